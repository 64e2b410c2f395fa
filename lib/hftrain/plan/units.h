// Which parameters are gathered, reduced and freed together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

enum class WrapPolicy { kNone, kTransformer, kSize };

struct UnitRequest {
  WrapPolicy policy = WrapPolicy::kTransformer;
  int64_t min_parameters = 0;  // of the size policy; 0: nothing is wrapped
  bool reshard = false;        // free units after forward
};

// In forward order; every parameter is in exactly one.
//
// The transformer policy makes a unit of each part of the architecture: embeddings, every layer, head. The
// size policy makes one of each part with at least min_parameters, and one, "model", of all others; without a
// policy "model" is everything. A part is what a model runs as a whole, so nothing below a layer is a unit.
std::vector<UnitPlan> make_units(const architectures::ParameterTable& table, const UnitRequest& request);

}  // namespace hftrain::plan
