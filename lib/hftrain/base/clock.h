// Time as plain seconds.
#pragma once

#include <chrono>

namespace hftrain {

// Seconds since the Unix epoch.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Seconds on the monotonic clock, comparable between processes of one machine (CLOCK_MONOTONIC).
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hftrain
