// A family of a plug-in among those that models are built of.
#pragma once

#include <string>

#include "hftrain/plugin/model.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

void add_plugin_family(PluginPart part, const std::string& model_type, plugin::MakeDecoder make);

}  // namespace hftrain::trainer
