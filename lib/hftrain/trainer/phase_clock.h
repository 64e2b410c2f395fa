// Seconds spent in each phase of a run; phases that did not happen are there with 0.
#pragma once

#include <map>
#include <string>

#include "hftrain/base/clock.h"
#include "hftrain/base/json.h"

namespace hftrain::trainer {

class PhaseClock {
 public:
  // Adds the time of its own life to a phase.
  class Span {
   public:
    Span(PhaseClock& clock, std::string phase)
        : clock_(clock), phase_(std::move(phase)), begin_(monotonic_seconds()) {}
    Span(const Span&) = delete;
    ~Span() { clock_.seconds_[phase_] += monotonic_seconds() - begin_; }

   private:
    PhaseClock& clock_;
    std::string phase_;
    double begin_;
  };

  Span span(std::string phase) { return Span(*this, std::move(phase)); }
  void set(const std::string& phase, double seconds) { seconds_[phase] = seconds; }
  double seconds(const std::string& phase) const {
    const auto found = seconds_.find(phase);
    return found == seconds_.end() ? 0.0 : found->second;
  }
  Json to_json_value() const { return Json(seconds_); }

 private:
  std::map<std::string, double> seconds_ = {
      {"load", 0}, {"first_step", 0}, {"train", 0}, {"eval", 0}, {"save", 0}};
};

}  // namespace hftrain::trainer
