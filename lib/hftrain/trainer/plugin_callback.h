// A callback of a plug-in among those of the Trainer.
#pragma once

#include <memory>

#include "hftrain/plan/run_plan.h"
#include "hftrain/plugin/callback.h"
#include "hftrain/trainer/callback.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

// Names and numbers; what else a record holds is left out.
plugin::Metrics numbers_of(const Json& record);

// `state_name`: its name in trainer_state.json. `plan` must outlive the object.
std::unique_ptr<Callback> plugin_callback(PluginPart part, std::string state_name,
                                          std::unique_ptr<plugin::Callback> callback,
                                          const plan::RunPlan& plan, int rank);

}  // namespace hftrain::trainer
