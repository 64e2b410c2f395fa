// The meeting of front programs that Open MPI's mpirun started, through PMIx.
#pragma once

#include <string>

#include "launcher/address_exchange.h"

namespace hftrain::launcher {

// PMIx is spoken by a short-lived child, because a process can start it only once and the worker wants to; it
// is opened from libhftrain_pmix.so, so that this program does not link it. Every front program of the job
// has to come: the call is a fence.
class PmixExchange : public AddressExchange {
 public:
  // `plugin`: path of libhftrain_pmix.so.
  explicit PmixExchange(std::string plugin) : plugin_(std::move(plugin)) {}

  void publish(const std::string& announcement, double timeout_seconds) override;
  std::string await(double timeout_seconds) override;

 private:
  std::string meet(const std::string& own, double timeout_seconds);

  std::string plugin_;
};

}  // namespace hftrain::launcher
