// How fast training goes just now, for the live line.
#pragma once

#include <cstdint>
#include <optional>

namespace hftrain::trainer {

// Tokens per second over the last few seconds of training. Needs two updates.
class Throughput {
 public:
  // After every update: tokens of all ranks so far, and seconds spent training so far, without those that
  // evaluations and saves took.
  void add(int64_t tokens, double seconds);
  std::optional<double> tokens_per_second() const;

 private:
  struct Point {
    int64_t tokens = 0;
    double seconds = 0;
  };
  // From `from_` to `now_` is between one and two spans of time, once as much has passed.
  std::optional<Point> from_, between_;
  Point now_;
};

}  // namespace hftrain::trainer
