// By what a run knows that it is one of `--smoke`, which sets it for the runs that it starts.
#pragma once

#include "hftrain/base/environment.h"

namespace hftrain::arguments {

inline constexpr const char* kSmokeVariable = "HFTRAIN_SMOKE";

// The run has the length of a check, and the ranks of this machine: what was written for more of them gives way.
inline bool is_of_smoke(const Environment& environment) {
  return environment.get_or(kSmokeVariable, "") == "1";
}

}  // namespace hftrain::arguments
