// Where the seconds of updates go, by the clock of the host. For devices that compute while the host waits: of one
// that computes while the host goes on, such a clock would say what nobody did, so that nothing is measured there.
#pragma once

#include <map>
#include <string>

namespace hftrain::trainer {

// Parts do not overlap: what a part waits for other ranks is in "communication" and not in the part. One thread.
class StepClock {
 public:
  // Adds the time of its own life to a part. One at a time.
  class Span {
   public:
    Span(StepClock& clock, const char* part);
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    ~Span();

   private:
    StepClock& clock_;
    const char* part_;
    double begin_;   // monotonic seconds
    double waited_;  // comm::waited_seconds() then
  };

  explicit StepClock(bool measures);

  // "data", "forward", "backward", "optimizer"; "communication" where all of it is.
  Span span(const char* part) { return Span(*this, part); }
  // Seconds by part; nothing where nothing is measured.
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  std::map<std::string, double> seconds_;
};

}  // namespace hftrain::trainer
