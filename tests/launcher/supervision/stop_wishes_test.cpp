#include "launcher/supervision/stop_wishes.h"

#include "support/catch.h"

namespace hftrain::launcher {

TEST_CASE("signals of one moment are one wish to stop, whatever their names") {
  StopWishes wishes;
  CHECK(wishes.count() == 0);
  CHECK(wishes.take(SIGTERM, 0.1));  // the first one, however young the clock is
  CHECK_FALSE(wishes.take(SIGHUP, 0.1));
  CHECK_FALSE(wishes.take(SIGTERM, 0.1 + 0.9 * kRepeatedStopSeconds));
  CHECK(wishes.count() == 1);
  CHECK(wishes.take(SIGTERM, 0.2 + kRepeatedStopSeconds));
  CHECK(wishes.count() == 2);
}

TEST_CASE("who repeats a wish again and again does not put off the next one") {
  StopWishes wishes;
  CHECK(wishes.take(SIGTERM, 100));
  CHECK_FALSE(wishes.take(SIGTERM, 100 + 0.8 * kRepeatedStopSeconds));
  CHECK(wishes.take(SIGTERM, 100 + 1.6 * kRepeatedStopSeconds));
  CHECK_FALSE(wishes.take(SIGTERM, 100 + 2.4 * kRepeatedStopSeconds));
}

TEST_CASE("what the kernel says of processor time every second is one wish") {
  StopWishes wishes;
  CHECK(wishes.take(SIGXCPU, 100));
  for (const double now : {101.0, 102.0, 110.0}) CHECK_FALSE(wishes.take(SIGXCPU, now));
  CHECK(wishes.take(SIGTERM, 111));
  CHECK_FALSE(wishes.take(SIGXCPU, 112));
}

TEST_CASE("a key is a wish each time it is pressed, and what comes with it tells the same") {
  StopWishes wishes;
  CHECK(wishes.take(SIGINT, 100));
  CHECK_FALSE(wishes.take(SIGTERM, 100));
  CHECK(wishes.take(SIGINT, 100));
  CHECK(wishes.count() == 2);
}

}  // namespace hftrain::launcher
