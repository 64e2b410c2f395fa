// How long a run will take, about: enough to tell minutes from hours.
#pragma once

#include "hftrain/plan/resolve.h"

namespace hftrain::plan {

// The number of operations of training (6 for each parameter and token, 8 when activations are computed
// again; Kaplan et al. 2020, section 2.1) over what such devices do of them in practice. Waiting for each
// other, evaluation and saves come on top. 0 when the number of updates is not known.
double expected_seconds(const ResolveInput& input, const RunPlan& plan);

}  // namespace hftrain::plan
