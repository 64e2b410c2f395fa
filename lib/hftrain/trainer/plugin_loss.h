// A loss of a plug-in as what models take for theirs.
#pragma once

#include "hftrain/models/own_loss.h"
#include "hftrain/plugin/loss.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

models::OwnLoss plugin_loss(PluginPart part, plugin::Loss loss);

}  // namespace hftrain::trainer
