// The table of metrics: what each needs, what it reports, what it keeps.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/metrics/metric.h"

namespace hftrain::metrics {

enum class MetricInput { kClasses, kScores, kTags, kTexts, kAnswers };

struct MetricEntry {
  std::string_view name;  // as `evaluate` has it; "glue/<task>" for a task of GLUE
  MetricInput input;
  // Without a prefix, in the order of the results. seqeval has more with entity_level, squad_v2 reports of
  // questions without an answer only where there are any.
  std::vector<std::string_view> keys;
  std::string_view best;  // the key that decides which of two models is better, where nobody names one
  bool greater_is_better;
  int bytes_per_example;  // kept until the end of the evaluation; 0: memory does not grow with it
  std::unique_ptr<Metric> (*make)(const MetricOptions& options);
};

std::span<const MetricEntry> metric_table();

// kUsage for a name of none, with the nearest ones.
const MetricEntry& find_metric(std::string_view name);

std::unique_ptr<Metric> make_metric(std::string_view name, const MetricOptions& options = {});

// Bytes kept for an example under these options (rouge keeps none where it reports plain means).
int bytes_per_example(std::string_view name, const MetricOptions& options = {});

}  // namespace hftrain::metrics
