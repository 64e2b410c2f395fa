// The user's plug-in (plan::PluginPlan) as extensions of a run.
#pragma once

#include "hftrain/plan/run_plan.h"
#include "hftrain/plugin/run.h"
#include "hftrain/runtime/worker_context.h"
#include "hftrain/trainer/extensions.h"

namespace hftrain::trainer {

// Loads the library and keeps it for the life of the process; nothing without one in the plan. Error: kEnvironment where it
// cannot be loaded, is not the file that the plan is about, or was built for another interface or LibTorch; kUsage where
// the plan asks for what its loss would not do, or what it registers is not what may be (two losses, names of callbacks that are
// taken, families or metrics that it does not describe); kInternal, or the code of memory, where it throws while it registers or makes a
// callback.
Extensions load_plugin(const plan::RunPlan& plan, const runtime::WorkerContext& context);

// The task that a plug-in describes, before a plan that may name it is read. Error: kEnvironment where its file is not the one that the plan
// is about.
void learn_task(const plan::PluginPlan& plugin);

// The families of a plug-in alone, for who computes with a model and has no run. Errors as above.
void load_families(const plan::PluginPlan& plugin);

// Whether this process has code of the user, whose static objects may count on being destroyed. Any thread.
bool has_loaded_plugin();

// What those who extend a run are told of it.
plugin::Run told_run(const plan::RunPlan& plan, const runtime::WorkerContext& context);

}  // namespace hftrain::trainer
