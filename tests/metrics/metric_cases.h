// Compares the metrics with what the reference packages wrote down about them: a file of lines
// {"kind": …, "in": …, "out": …} (scripts/golden/metrics_cases.py).
#pragma once

#include <map>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::metrics {

struct CaseCounts {
  std::map<std::string, int> cases;  // of each kind
  int differences = 0;
  std::string first_difference;  // what differs, for a person
};

// Numbers are equal within 1e-6, relative to those above 1; NaN equals NaN.
CaseCounts compare_with_cases(const std::string& path);

// What we make of the input of one case.
Json our_answer(const std::string& kind, const Json& in);

}  // namespace hftrain::metrics
