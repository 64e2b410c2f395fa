// Seconds spent in each phase of a run; phases that did not happen are there with 0. Whoever watches the
// worker sees which phase it is in.
#pragma once

#include <map>
#include <string>

#include "hftrain/base/clock.h"
#include "hftrain/base/json.h"
#include "hftrain/trainer/event_channel.h"

namespace hftrain::trainer {

class PhaseClock {
 public:
  // Adds the time of its own life to a phase.
  class Span {
   public:
    Span(PhaseClock& clock, std::string phase)
        : clock_(clock),
          phase_(std::move(phase)),
          outer_(clock.events_.phase()),
          begin_(monotonic_seconds()) {
      clock_.events_.set_phase(work_phase(phase_));
    }
    Span(const Span&) = delete;
    ~Span() {
      clock_.seconds_[phase_] += monotonic_seconds() - begin_;
      clock_.events_.set_phase(outer_);
    }

   private:
    PhaseClock& clock_;
    std::string phase_;
    WorkPhase outer_;  // that this one is part of
    double begin_;
  };

  // `events` must outlive the object.
  explicit PhaseClock(EventChannel& events) : events_(events) {}

  Span span(std::string phase) { return Span(*this, std::move(phase)); }
  void set(const std::string& phase, double seconds) { seconds_[phase] = seconds; }
  double seconds(const std::string& phase) const {
    const auto found = seconds_.find(phase);
    return found == seconds_.end() ? 0.0 : found->second;
  }
  Json to_json_value() const { return Json(seconds_); }

 private:
  static WorkPhase work_phase(const std::string& phase) {
    if (phase == "load") return WorkPhase::kLoading;
    if (phase == "eval") return WorkPhase::kEvaluating;
    return phase == "save" ? WorkPhase::kSaving : WorkPhase::kTraining;
  }

  EventChannel& events_;
  std::map<std::string, double> seconds_ = {
      {"load", 0}, {"first_step", 0}, {"train", 0}, {"eval", 0}, {"save", 0}};
};

}  // namespace hftrain::trainer
