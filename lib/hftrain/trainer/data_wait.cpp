#include "hftrain/trainer/data_wait.h"

#include <cmath>
#include <string>

#include "hftrain/base/clock.h"
#include "hftrain/base/log_level.h"
#include "hftrain/base/status_page.h"

namespace hftrain::trainer {
namespace {

// Whoever watches the worker sees what it does in its life.
class Waiting {
 public:
  explicit Waiting(EventChannel& events) : events_(events), outer_(events.phase()) {
    events_.set_phase(WorkPhase::kWaitingForData);
  }
  Waiting(const Waiting&) = delete;
  ~Waiting() { events_.set_phase(outer_); }

 private:
  EventChannel& events_;
  WorkPhase outer_;
};

}  // namespace

bool DataWait::until(const std::function<bool()>& there, const std::function<int64_t()>& rows) const {
  if (stop_()) return false;  // also where data are always there: a long update is made of many rounds
  if (there()) return true;
  const Waiting waiting(events_);
  int64_t come = rows();
  double came = monotonic_seconds(), patience = silent_seconds_;
  while (!stop_()) {
    if (there()) return true;
    const double now = monotonic_seconds();
    const int64_t more = rows() - come;
    if (more > 0) {
      events_.moved(static_cast<uint64_t>(more));
      come += more, came = now, patience = silent_seconds_;
    } else if (now - came >= patience) {
      events_.message(LogLevel::kWarning, "no training data have come for " +
                                              std::to_string(std::lround(patience)) +
                                              " s: the run waits for the disk or the network");
      patience *= 2;
    }
  }
  return false;
}

}  // namespace hftrain::trainer
