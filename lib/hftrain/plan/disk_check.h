// Whether what a run writes has room where its output folder lies. Each node with an output folder of its own asks for its own
// disk (save_on_each_node): `free_bytes` of the plan's disk, below 0 where that is not known.
#pragma once

#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/plan/problems.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Refuses (kDisk) what has no room for one checkpoint, or for the model where no checkpoint is saved.
void check_disk(const RunPlan& plan, Problems& problems);
// A warning where the checkpoints that will lie there at once do not fit together.
std::optional<Diagnostic> disk_too_small_for_all(const RunPlan& plan);

}  // namespace hftrain::plan
