#include "hftrain/trainer/plugin_metrics.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain::trainer {
namespace {

using Labels = tasks::TaskDescription::Labels;

// By number, as config.json has them.
std::vector<std::string> label_names_of(Labels labels, const Json& config) {
  std::vector<std::string> names;
  if (labels == Labels::kNumber || labels == Labels::kText)
    return names;  // it may hold names that nobody gave
  const auto by_number = config.find("id2label");
  if (by_number == config.end() || !by_number->is_object()) return names;
  for (size_t i = 0; i < by_number->size(); ++i) {
    const auto name = by_number->find(std::to_string(i));
    if (name == by_number->end() || !name->is_string()) return {};
    names.push_back(name->get<std::string>());
  }
  return names;
}

std::vector<std::pair<std::string, double>> in_described_order(const plugin::Metrics& given,
                                                               const std::vector<std::string>& described) {
  std::vector<std::pair<std::string, double>> ordered;
  for (const std::string& name : described) {
    const auto found = std::ranges::find_if(given, [&](const auto& one) { return one.first == name; });
    if (found == given.end())
      throw std::runtime_error("it gives no '" + name + "', which its description names");
    ordered.push_back(*found);
  }
  for (const auto& [name, value] : given) {
    if (std::ranges::find(described, name) == described.end())
      throw std::runtime_error("it gives '" + name + "', and its description names " + join(described, ", "));
  }
  if (given.size() != described.size()) throw std::runtime_error("it gives a metric twice");
  return ordered;
}

}  // namespace

OwnMetrics plugin_metrics(PluginPart part, plugin::Measure measure, const tasks::TaskDescription& task,
                          const Json& model_config) {
  return [part = std::move(part), measure = std::move(measure), described = task.metrics,
          names = label_names_of(task.labels, model_config)](const JudgedOutputs& all) {
    const auto labels = all.labels.find("labels");
    if (labels == all.labels.end()) return std::vector<std::pair<std::string, double>>();
    return part.call("measuring", [&] {
      return in_described_order(measure({all.predictions, labels->second, names}), described);
    });
  };
}

}  // namespace hftrain::trainer
