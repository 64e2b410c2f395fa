#pragma once

#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/plan/topology.h"

namespace hftrain::plan {

// As --num_cpu_threads_per_process: more would be a slip of the finger.
inline constexpr int kMostRankThreads = 4096;

// MKL_NUM_THREADS, else OMP_NUM_THREADS, when it is a number from 1 to the most.
void take_requested_threads(const Environment& environment, HostResources& host);

// NAME=value of those two that are set and no such number; why such have no effect, and what to do.
std::vector<std::string> unread_thread_counts(const Environment& environment);
std::string why_unread_threads();
inline constexpr const char* kReadableThreads = "a whole number, or unset it";

}  // namespace hftrain::plan
