// Metrics of a plug-in's task: the ones that its description names, in that order.
#include "hftrain/trainer/plugin_metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::trainer {
namespace {

const PluginPart kMeasuring{"the plug-in 'mine'", "/p/mine.so", "the metrics of the task 'tags'"};
using Results = std::vector<std::pair<std::string, double>>;

JudgedOutputs outputs_of_two() {
  return {.predictions = at::tensor({1, 0}, at::kLong),
          .labels = {{"labels", at::tensor({1, 1}, at::kLong)}}};
}

tasks::TaskDescription measured(std::vector<std::string> metrics) {
  tasks::TaskDescription task;
  task.metrics = std::move(metrics);
  return task;
}

OwnMetrics giving(plugin::Metrics given) {
  return plugin_metrics(
      kMeasuring, [given = std::move(given)](const plugin::JudgedSplit&) { return given; },
      measured({"b", "a"}), Json::object());
}

TEST_CASE("a plug-in's metrics see predictions, labels and what these are called") {
  const auto measure = [](const plugin::JudgedSplit& split) -> plugin::Metrics {
    return {{"right", (split.predictions == split.labels).sum().item<double>()},
            {"names", split.label_names == std::vector<std::string>{"no", "yes"} ? 1 : 0}};
  };
  const Json config = {{"id2label", {{"1", "yes"}, {"0", "no"}}}};
  tasks::TaskDescription task = measured({"names", "right"});
  CHECK(plugin_metrics(kMeasuring, measure, task, config)(outputs_of_two()) ==
        Results{{"names", 1}, {"right", 1}});
  task.labels = tasks::TaskDescription::Labels::kText;  // what a config holds says nothing of tokens
  CHECK(plugin_metrics(kMeasuring, measure, task, config)(outputs_of_two()) ==
        Results{{"names", 0}, {"right", 1}});
}

TEST_CASE("metrics come in the described order, and what is not described ends the run in words") {
  CHECK(giving({{"a", 1}, {"b", 2}})(outputs_of_two()) == Results{{"b", 2}, {"a", 1}});
  CHECK_REFUSED(giving({{"a", 1}})(outputs_of_two()), "it gives no 'b', which its description names");
  CHECK_REFUSED(giving({{"a", 1}, {"b", 2}, {"c", 3}})(outputs_of_two()),
                "it gives 'c', and its description names b, a");
  CHECK_REFUSED(giving({{"a", 1}, {"b", 2}, {"a", 3}})(outputs_of_two()), "it gives a metric twice");
  CHECK_REFUSED(giving({})(outputs_of_two()), "the metrics of the task 'tags', measuring, /p/mine.so");
}

TEST_CASE("nothing is measured of a split without labels") {
  JudgedOutputs outputs = outputs_of_two();
  outputs.labels.clear();
  CHECK(giving({{"c", 3}})(outputs).empty());
}

}  // namespace
}  // namespace hftrain::trainer
