#pragma once

#include <optional>

#include "hftrain/base/environment.h"

namespace hftrain::plan {

// OMP_NUM_THREADS, when it is a number above 0.
std::optional<int> requested_threads(const Environment& environment);

}  // namespace hftrain::plan
