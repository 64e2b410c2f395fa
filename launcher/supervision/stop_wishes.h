// How often a job was asked to stop, of the signals that came: timeout(1) and some schedulers send theirs to the process and
// to its group, systemd sends SIGHUP right behind SIGTERM. Pure: time comes as a value, of monotonic_seconds().
#pragma once

#include <signal.h>

namespace hftrain::launcher {

// Two stop signals that come closer are one wish, whatever their names; SIGINT is a key that somebody
// presses. Whoever sends two sends them at once, but on a busy machine they are not seen at once. SIGXCPU, which the kernel
// sends with every second of processor time beyond the limit, is never a second wish.
constexpr double kRepeatedStopSeconds = 0.5;

// Whether `signal`, which comes `seconds` after the one that told a wish, tells that wish again. For handlers of signals, too.
constexpr bool is_same_wish(int signal, double seconds) {
  return signal == SIGXCPU || (signal != SIGINT && seconds < kRepeatedStopSeconds);
}

class StopWishes {
 public:
  // True where the signal is a wish of its own. One that is not does not put off the next.
  bool take(int signal, double now) {
    if (count_ > 0 && is_same_wish(signal, now - newest_at_)) return false;
    newest_at_ = now;
    ++count_;
    return true;
  }
  int count() const { return count_; }

 private:
  int count_ = 0;
  double newest_at_ = 0;
};

}  // namespace hftrain::launcher
