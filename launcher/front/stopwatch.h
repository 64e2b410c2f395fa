// Seconds of the front program's phases, for summary.json.
#pragma once

#include <map>
#include <string>

#include "hftrain/base/clock.h"

namespace hftrain::front {

class Stopwatch {
 public:
  // Ends the running phase and begins the next; each second belongs to one phase.
  void begin(const std::string& phase) {
    const double now = monotonic_seconds();
    if (!phase_.empty()) seconds_[phase_] += now - since_;
    phase_ = phase;
    since_ = now;
  }
  void end() { begin(""); }
  double total() const { return monotonic_seconds() - started_; }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  double started_ = monotonic_seconds();
  double since_ = started_;
  std::string phase_;
  std::map<std::string, double> seconds_;
};

}  // namespace hftrain::front
