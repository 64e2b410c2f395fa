// What must be equal for a run to go on from another's checkpoint by itself: model, data, task and seed.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// A flat object of names and values. Paths are left out where content can stand for them, so that a moved run
// stays the same run. The data must be prepared: its content hash is part of it.
Json run_identity(const RunPlan& plan);

// What of an adapter is part of it.
Json adapter_identity(const architectures::AdapterSpec& spec);

// The cache's name of prepared data, the hash of their content and options, from the path of a split.
std::string cache_entry(const std::string& cache_path);

// Whether both train on the same data and are evaluated on other ones.
bool evaluated_otherwise(const Json& saved, const Json& present);

// One line per member that differs, "seed: 42 there, 7 here"; empty when both are the same run.
std::vector<std::string> identity_differences(const Json& saved, const Json& present);

}  // namespace hftrain::plan
