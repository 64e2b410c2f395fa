// The meeting of front programs that Open MPI's mpirun started, through PMIx.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "hftrain/base/file.h"
#include "launcher/environments/address_exchange.h"

namespace hftrain::launcher {

// PMIx is spoken by a child, because a process can start it only once and the worker wants to; it is opened
// from libhftrain_pmix.so, so that this program does not link it. Every front program of the job has to come:
// the call is a fence. The child lives as long as this object, which therefore outlives the job's workers
// (pmix/exchange.h tells why).
class PmixExchange : public AddressExchange {
 public:
  // `plugin`: path of libhftrain_pmix.so.
  explicit PmixExchange(std::string plugin) : plugin_(std::move(plugin)) {}
  PmixExchange(const PmixExchange&) = delete;
  PmixExchange& operator=(const PmixExchange&) = delete;
  ~PmixExchange() override { end_child(kEndSeconds); }

  void publish(const std::string& announcement, const ExchangeWait& wait) override;
  std::string await(const ExchangeWait& wait) override;

 private:
  static constexpr double kEndSeconds = 3;  // longer than PMIx waits for mpirun

  std::string meet(const std::string& own, const ExchangeWait& wait);
  std::optional<std::string> hear_child(int from, const ExchangeWait& wait);
  // It is killed when it has not ended by itself after so long.
  void end_child(double patience_seconds) noexcept;

  std::string plugin_;
  pid_t child_ = -1;
  FileDescriptor stay_;  // the child ends when it is closed
};

}  // namespace hftrain::launcher
