// SIGTERM, SIGUSR1, SIGUSR2 and SIGINT as a descriptor instead of handlers. While an object lives these
// signals are blocked in the calling thread (and in threads it starts); before and afterwards they act as
// they did.
#pragma once

#include <signal.h>

#include "hftrain/base/file.h"

namespace hftrain::launcher {

class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // Readable when a signal is waiting; for poll().
  int descriptor() const noexcept { return descriptor_.get(); }
  // The next waiting signal, or 0.
  int next();

 private:
  sigset_t previous_;
  FileDescriptor descriptor_;
};

}  // namespace hftrain::launcher
