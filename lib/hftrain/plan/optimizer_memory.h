// Bytes of an optimizer's state, exactly but for its counters of updates, from the shapes alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Bytes of one number of "float32", "bfloat16" or "float16".
int64_t bytes_of(const std::string& dtype);

// What `optimizer` keeps of a parameter by its options, beside what it always keeps, as torch spells it ("momentum_buffer", …); sorted.
std::vector<std::string> states_by_options(const OptimizerPlan& optimizer);

// State that `optimizer` keeps for all parameters of `table`, whose weights are of type `master_dtype`.
int64_t optimizer_state_bytes(const OptimizerPlan& optimizer, const architectures::ParameterTable& table,
                              const std::string& master_dtype);

// Of parameters in a list that optim::ListOptimizer updates at once on a device, unless one alone is larger.
constexpr int64_t kUpdateListBytes = int64_t{64} << 20;

// What an update on a GPU takes beside parameters, gradients and state: what is calculated between them, and copies of what a gate
// cannot leave as it is. Of the parameters that this rank updates.
int64_t update_bytes(const OptimizerPlan& optimizer, const architectures::ParameterTable& table,
                     const std::string& master_dtype);

}  // namespace hftrain::plan
