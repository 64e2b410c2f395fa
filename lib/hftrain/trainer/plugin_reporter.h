// A reporter of a plug-in as a tracker of the run.
#pragma once

#include "hftrain/plugin/plugin.h"
#include "hftrain/trainer/extensions.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

FurtherReporter plugin_reporter(PluginPart part,
                                plugin::Registry::Named<plugin::Registry::BeginReporter> reporter,
                                plugin::Run run);

}  // namespace hftrain::trainer
