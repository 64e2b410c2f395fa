// Bytes of an optimizer's state, exactly but for its counters of updates, from the shapes alone (training_loop.md 7.7 of the
// contract).
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/architectures/architecture.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Bytes of one number of "float32", "bfloat16" or "float16".
int64_t bytes_of(const std::string& dtype);

// State that `optimizer` keeps for all parameters of `table`, whose weights are of type `master_dtype`.
int64_t optimizer_state_bytes(const OptimizerPlan& optimizer, const architectures::ParameterTable& table,
                              const std::string& master_dtype);

}  // namespace hftrain::plan
