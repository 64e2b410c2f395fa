// Which samples an evaluation or a prediction is of.
#pragma once

#include "hftrain/data/data_files.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::trainer {

// A split, or its second set: the mismatched texts of mnli, whose results run_glue puts beside those of the first.
struct EvaluatedSet {
  data::Split split = data::Split::kValidation;
  bool mismatched = false;

  bool predicted() const { return split == data::Split::kTest; }
  // Null where the plan has no such set.
  const plan::SplitPlan* of(const plan::DataPlan& data) const;
  // Behind the keys of its results: "_mm" of a second set.
  const char* suffix() const { return mismatched ? "_mm" : ""; }
};

}  // namespace hftrain::trainer
