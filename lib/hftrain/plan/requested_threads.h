#pragma once

#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/plan/topology.h"

namespace hftrain::plan {

// MKL_NUM_THREADS, else OMP_NUM_THREADS, when it is a number above 0.
void take_requested_threads(const Environment& environment, HostResources& host);

// NAME=value of those two that are set and no such number.
std::vector<std::string> unread_thread_counts(const Environment& environment);

}  // namespace hftrain::plan
