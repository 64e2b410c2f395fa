// The adapter of a checkpoint that a run is told to go on from.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"

namespace hftrain::front {

// A run goes on with the adapter that it was trained with: its numbers mean something else under another alpha. Everything else
// may be changed by who names a checkpoint. An Error (exit code 2) where one of the two trains an adapter and the other does
// not, or another one: of another rank, alpha, or modules, in whatever words they are named. What a user should know of one that
// is taken; mostly empty.
std::string check_resumed_adapter(const plan::RunPlan& plan, const std::string& checkpoint);

}  // namespace hftrain::front
