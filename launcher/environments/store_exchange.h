// The meeting of front programs that torchrun started: through the key-value store that its agent keeps at
// MASTER_ADDR:MASTER_PORT.
#pragma once

#include <string>
#include <utility>

#include "launcher/environments/address_exchange.h"

namespace hftrain::launcher {

// Speaks the requests of torch's TCPStore (2.x; checked against 2.11) that are needed: to be validated, ping,
// set, get, wait, delete. Integers are in the byte order of the machines; a text is its length (64 bits) and its
// bytes.
class StoreExchange : public AddressExchange {
 public:
  // `key`: under which agent 0 announces itself; another one for every start of the job. One that follows in the same torchrun (a
  // script with two commands) has the same one.
  StoreExchange(std::string host, int port, std::string key)
      : host_(std::move(host)), port_(port), key_(std::move(key)) {}

  void publish(const std::string& announcement, const ExchangeWait& wait) override;
  std::string await(const ExchangeWait& wait) override;
  void withdraw(const ExchangeWait& wait) override;

 private:
  std::string host_;
  int port_;
  std::string key_;
};

}  // namespace hftrain::launcher
