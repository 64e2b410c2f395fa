// Metrics of a plug-in's task beside those that hftrain has of it.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/plugin/task.h"
#include "hftrain/trainer/own_metrics.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

// `described`: the names that a plan was made with, in whose order they are reported; other ones end the run in words. `model_config`
// names the labels.
OwnMetrics plugin_metrics(PluginPart part, plugin::Measure measure, std::vector<std::string> described,
                          const Json& model_config);

}  // namespace hftrain::trainer
