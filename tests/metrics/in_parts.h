// A metric as an evaluation on several ranks computes it: the batch dealt out to three of them in turns, each
// part added on its own, the states merged by a fourth that has seen nothing.
#pragma once

#include <string>

#include "hftrain/metrics/metric.h"

namespace hftrain::metrics {

MetricResults in_parts(const std::string& name, const MetricOptions& options, const MetricBatch& batch);

}  // namespace hftrain::metrics
