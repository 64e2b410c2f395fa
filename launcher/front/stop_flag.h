// Stop signals while the front program itself works: the first one sets a flag that long work looks at, a
// second one ends the process at once, unless it is of the same wish (launcher/supervision/stop_wishes.h). The supervisor has
// its own way once workers run (launcher/supervision/stop_signals.h).
#pragma once

#include <signal.h>

#include <array>
#include <atomic>

namespace hftrain::front {

constexpr std::array kStopSignals = {SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGINT, SIGHUP, SIGQUIT};
using PreviousActions = std::array<struct sigaction, kStopSignals.size()>;

// One at a time in a process. Handlers act as before once the object is gone.
class StopFlag {
 public:
  StopFlag();
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;
  ~StopFlag();

  const std::atomic<bool>& is_set() const noexcept;

 private:
  PreviousActions previous_;
};

// The signal that set the flag of the last StopFlag, which may be gone by now; 0: none did.
int first_stop_signal() noexcept;

// While nothing runs yet and nothing could be lost: a stop signal ends the program at once with exit code 10.
// Handlers act as before once the object is gone.
class LeaveOnStop {
 public:
  LeaveOnStop();
  LeaveOnStop(const LeaveOnStop&) = delete;
  LeaveOnStop& operator=(const LeaveOnStop&) = delete;
  ~LeaveOnStop();

 private:
  PreviousActions previous_;
};

}  // namespace hftrain::front
