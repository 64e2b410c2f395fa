// SIGTERM, SIGUSR1, SIGUSR2, SIGINT and SIGHUP (the terminal was closed; not when it is ignored, as under
// nohup) as a descriptor instead of handlers. While an object lives these signals are blocked in the calling
// thread (and in threads it starts); before and afterwards they act as they did. Objects may be nested: a
// signal goes to whichever asks first. One that nobody has asked for is dropped at the end of the last
// object.
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
