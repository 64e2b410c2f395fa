#include "hftrain/reporting/metric_tag.h"

#include <algorithm>
#include <array>

namespace hftrain::reporting {

std::string metric_tag(const std::string& metric) {
  if (metric.starts_with("eval_")) return "eval/" + metric.substr(5);
  if (metric.starts_with("test_")) return "test/" + metric.substr(5);
  return "train/" + metric;
}

bool is_of_whole_run(std::string_view metric) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos"};
  return std::ranges::find(kNames, metric) != kNames.end();
}

}  // namespace hftrain::reporting
