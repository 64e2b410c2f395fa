// What rules of several groups ask of the arguments.
#pragma once

#include "hftrain/arguments/derive.h"
#include "hftrain/arguments/rules.h"

namespace hftrain::arguments {

using Severity = Diagnostic::Severity;
using Outcome = const ParseOutcome&;

inline bool whole(double value) {
  return value == std::floor(value);
}

inline bool broken_interval(double steps) {
  return steps > 1 && !whole(steps);
}

inline bool training(Outcome o) {
  return wants_training(o);
}

inline bool evaluating(Outcome o) {
  return o.arguments.run.do_eval || o.arguments.evaluation.eval_strategy != "no";
}

// The user asked for it, other than by a file that repeats the default.
inline bool chosen(Outcome o, const char* flag) {
  return o.origins.is_given(flag) && o.origins.is_chosen(flag);
}

}  // namespace hftrain::arguments
