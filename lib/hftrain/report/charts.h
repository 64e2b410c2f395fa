// The lines of a page's charts as numbers; the script of the page draws them.
#pragma once

#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/report/run.h"

namespace hftrain::report {

// [{"title", "lines": [{"run", "x": steps, "t": seconds since the run's first record, "y": values}]}]: a chart for every metric
// that has at least two points in some run, training's own first, then evaluation's, then the rest. "run" is the place in
// `runs`. Points are thinned so that all charts together have at most about 100,000; values have 7 digits, those that are not
// finite are null.
Json charts_of(const std::vector<Run>& runs);

// The metrics that have a chart or a single value, in the order of the page.
std::vector<std::string> metric_names(const std::vector<Run>& runs);

}  // namespace hftrain::report
