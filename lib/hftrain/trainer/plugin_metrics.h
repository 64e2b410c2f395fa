// Metrics of a plug-in's task beside those that hftrain has of it.
#pragma once

#include "hftrain/base/json.h"
#include "hftrain/plugin/task.h"
#include "hftrain/tasks/task_description.h"
#include "hftrain/trainer/own_metrics.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

// They are reported in the order of `task`, with whose names the plan was made; other ones end the run in words. `model_config` names the
// labels.
OwnMetrics plugin_metrics(PluginPart part, plugin::Measure measure, const tasks::TaskDescription& task,
                          const Json& model_config);

}  // namespace hftrain::trainer
