// What a rehearsal tries before the first update: what of the run comes only now and then.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

struct Rehearsed {
  bool evaluation = false;  // one batch
  bool save = false;        // one checkpoint
  bool model = false;       // the model as it is written at the end, where no checkpoint holds it whole
};

inline Rehearsed rehearsed(const RunPlan& plan) {
  Rehearsed parts;
  parts.evaluation = plan.data.validation && (plan.evaluation.interval.strategy != "no" ||
                                              plan.evaluation.on_start || plan.evaluation.at_end);
  parts.save = plan.saving.interval.strategy != "no";
  const bool held_whole = parts.save && plan.strategy.state_dict == "full";
  parts.model = !held_whole;
  return parts;
}

// "one evaluation batch, one save and the last model"
inline std::string describe(const Rehearsed& parts) {
  std::string text = parts.evaluation ? "one evaluation batch" : "";
  const auto add = [&](bool tried, bool last, const char* what) {
    if (tried) text += (text.empty() ? "" : last ? " and " : ", ") + std::string(what);
  };
  add(parts.save, !parts.model, "one save");
  add(parts.model, true, "the last model");
  return text;
}

}  // namespace hftrain::plan
