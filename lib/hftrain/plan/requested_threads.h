#pragma once

#include "hftrain/base/environment.h"
#include "hftrain/plan/topology.h"

namespace hftrain::plan {

// MKL_NUM_THREADS, else OMP_NUM_THREADS, when it is a number above 0.
void take_requested_threads(const Environment& environment, HostResources& host);

}  // namespace hftrain::plan
