// Time in which this program itself was not run: its job was suspended (SIGSTOP to all of it), its virtual machine paused.
// Nobody can have been heard meanwhile, and on waking all silences look long. Pure: time comes as a value, of monotonic_seconds().
#pragma once

namespace hftrain::launcher {

class OwnPauses {
 public:
  // A program that looks once a second is late by this much on no machine that only has much to do.
  static constexpr double kLongestLook = 3;

  explicit OwnPauses(double now) : looked_at_(now) {}

  // To be called once a second at least. The seconds since the call before where the program was not run, else 0.
  double take(double now) {
    const double seconds = now - looked_at_;
    looked_at_ = now;
    return seconds > kLongestLook ? seconds : 0;
  }

 private:
  double looked_at_;
};

}  // namespace hftrain::launcher
