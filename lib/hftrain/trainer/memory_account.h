// Where a rank's memory went, for the report of an out-of-memory failure.
#pragma once

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/runtime/worker_context.h"

namespace hftrain::trainer {

// {parameters, gradients, optimizer: bytes held; planned_activations; device_allocated, device_total,
// host_resident: bytes; largest: [{name, bytes}] of this rank's parts of the parameters and of the logits of
// a micro-batch, largest first, at most five}.
Json memory_account(const plan::RunPlan& plan, const runtime::WorkerContext& context,
                    parallel::Strategy& strategy);

// The same in a line for people.
std::string describe_memory_account(const Json& account);

}  // namespace hftrain::trainer
