// What a run of `--smoke` makes of numbers that a file has for more ranks, or for a longer run, than it is.
#pragma once

#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Of `world` ranks, where groups of `shard` ranks, as many as `replicate` says, are more: no more of either, and both
// kinds of groups as far as there are ranks for them. Unset: as many as there are.
struct MeshSizes {
  int64_t replicate = 1, shard = 1;
};
MeshSizes smaller_mesh(const arguments::Sourced<int64_t>& replicate, const arguments::Sourced<int64_t>& shard,
                       int64_t world);

// What a plan of `--smoke` has in the place of such numbers.
std::vector<Diagnostic> notes_of_smoke(const arguments::ParseOutcome& parsed, const RunPlan& plan);

}  // namespace hftrain::plan
