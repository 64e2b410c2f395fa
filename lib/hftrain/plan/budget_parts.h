// The parts of the budget (budget.cpp): what a rank's memory holds beside the training state, and what of memory and disks is refused.
#pragma once

#include <cstdint>

#include "hftrain/architectures/architecture.h"
#include "hftrain/plan/problems.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/plan/step_moments.h"

namespace hftrain::plan {

inline constexpr int64_t kFullPrecision = 4;  // bytes of a float32

// head_memory.cpp
// Of a head that is applied to so many tokens: in training with what it hands on to the backward pass.
int64_t training_head_bytes(const architectures::Architecture& architecture, const RunPlan& plan,
                            int64_t tokens);
int64_t evaluation_head_bytes(const architectures::Architecture& architecture, const RunPlan& plan,
                              int64_t tokens);

// activation_memory.cpp
// `widens_bfloat16`: of any machine whose processors compute (HostResources).
StepActivations step_activations(const architectures::Architecture& architecture, const RunPlan& plan,
                                 bool widens_bfloat16);

// evaluation_memory.cpp
// 0 without data to evaluate.
int64_t evaluation_bytes(const architectures::Architecture& architecture, const RunPlan& plan);

// memory_check.cpp
void check_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems);

// nvme_check.cpp
void check_nvme(const ResolveInput& input, const RunPlan& plan, Problems& problems);

}  // namespace hftrain::plan
