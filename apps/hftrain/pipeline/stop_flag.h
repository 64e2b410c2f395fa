// Stop signals while the front program itself works: the first one sets a flag that long work looks at, a
// second one ends the process at once. The supervisor has its own way once workers run
// (launcher/stop_signals.h).
#pragma once

#include <signal.h>

#include <array>
#include <atomic>

namespace hftrain::app {

// One at a time in a process. Handlers act as before once the object is gone.
class StopFlag {
 public:
  StopFlag();
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;
  ~StopFlag();

  const std::atomic<bool>& is_set() const noexcept;

 private:
  static constexpr std::array kSignals = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT};
  std::array<struct sigaction, kSignals.size()> previous_;
};

}  // namespace hftrain::app
