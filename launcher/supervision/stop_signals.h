// The signals that stop a job as a descriptor instead of handlers: those that are named, and SIGUSR1,
// SIGUSR2 and SIGXCPU, by which schedulers and the kernel announce an end. SIGHUP (the terminal was closed) is left alone when it is
// ignored, as under nohup; others that are not named end the process, as the system has it. While an object lives these signals are blocked in the calling thread (and in
// threads it starts); before and afterwards they act as they did. Objects may be nested: a signal goes to
// whichever asks first. One that nobody has asked for is dropped at the end of the last object.
#pragma once

#include <signal.h>

#include <map>
#include <string>

#include "hftrain/base/file.h"

namespace hftrain::launcher {

// One of those that ask a job to stop.
bool is_stop_signal(int number);

class StopSignals {
 public:
  // Joined by commas; what is not a name of such a signal is passed over.
  explicit StopSignals(const std::string& names = "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // Readable when a signal is waiting; for poll().
  int descriptor() const noexcept { return descriptor_.get(); }
  // The next waiting signal, or 0.
  int next();

 private:
  sigset_t previous_;
  std::map<int, struct sigaction> unnamed_;  // what they did before
  bool outermost_ = true;
  FileDescriptor descriptor_;
};

}  // namespace hftrain::launcher
