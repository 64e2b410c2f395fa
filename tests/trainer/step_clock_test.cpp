#include "hftrain/trainer/step_clock.h"

#include <numeric>
#include <string>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/comm/waited.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

constexpr double kSlow = 0.02;  // seconds

void be_busy() {
  const double begin = monotonic_seconds();
  while (monotonic_seconds() - begin < kSlow) {
  }
}

double sum_of(const StepClock& clock) {
  return std::accumulate(
      clock.seconds().begin(), clock.seconds().end(), 0.0,
      [](double sum, const std::pair<const std::string, double>& part) { return sum + part.second; });
}

TEST_CASE("a slow part of an update is seen in its own seconds", "[step_clock]") {
  for (const std::string slow : {"data", "forward", "backward", "optimizer", "communication"}) {
    StepClock clock(true);
    const double begin = monotonic_seconds();
    {
      const StepClock::Span span = clock.span(slow.c_str());
      be_busy();
    }
    const double passed = monotonic_seconds() - begin;
    CAPTURE(slow);
    CHECK(clock.seconds().at(slow) >= kSlow);
    CHECK(sum_of(clock) == clock.seconds().at(slow));
    CHECK(sum_of(clock) <= passed);
  }
}

TEST_CASE("what a part waits for others is communication, and counts once", "[step_clock]") {
  StepClock clock(true);
  const double begin = monotonic_seconds();
  {
    const StepClock::Span span = clock.span("backward");
    be_busy();
    const comm::CountsAsWaiting waiting;
    be_busy();
  }
  const double passed = monotonic_seconds() - begin;
  CHECK(clock.seconds().at("backward") >= kSlow);
  CHECK(clock.seconds().at("communication") >= kSlow);
  CHECK(sum_of(clock) >= 2 * kSlow);
  CHECK(sum_of(clock) <= passed + 1e-6);
}

TEST_CASE("where the host goes on while the device computes nothing is said", "[step_clock]") {
  StepClock clock(false);
  { const StepClock::Span span = clock.span("forward"); }
  CHECK(clock.seconds().empty());
}

}  // namespace
}  // namespace hftrain::trainer
