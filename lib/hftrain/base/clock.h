// Time as plain seconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace hftrain {

// Seconds since the Unix epoch.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Seconds on the monotonic clock, comparable between processes of one machine (CLOCK_MONOTONIC).
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A moment that does not come.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What poll() may wait for `deadline`, a time of monotonic_seconds(): 0 when it has passed, an hour at most.
inline int milliseconds_until(double deadline) {
  return static_cast<int>(std::min(std::ceil(std::max(0.0, deadline - monotonic_seconds()) * 1000), 3.6e6));
}

}  // namespace hftrain
