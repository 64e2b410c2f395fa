#include "hftrain/trainer/step_clock.h"

#include "hftrain/base/clock.h"
#include "hftrain/comm/waited.h"

namespace hftrain::trainer {

StepClock::StepClock(bool measures) {
  if (!measures) return;
  for (const char* part : {"data", "forward", "backward", "communication", "optimizer"}) seconds_[part] = 0;
}

StepClock::Span::Span(StepClock& clock, const char* part)
    : clock_(clock), part_(part), begin_(monotonic_seconds()), waited_(comm::waited_seconds()) {}

StepClock::Span::~Span() {
  if (clock_.seconds_.empty()) return;
  const double waited = comm::waited_seconds() - waited_;
  clock_.seconds_[part_] += monotonic_seconds() - begin_ - waited;
  clock_.seconds_["communication"] += waited;
}

}  // namespace hftrain::trainer
