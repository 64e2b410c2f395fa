// A loss of a plug-in as what models take for theirs.
#pragma once

#include "hftrain/models/own_loss.h"
#include "hftrain/plugin/loss.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain::trainer {

// std::runtime_error unless it is a float32 scalar: what would otherwise be found in the middle of a backward pass.
void check_loss(const at::Tensor& loss);

// `doing`: what messages call it.
models::OwnLoss plugin_loss(PluginPart part, plugin::Loss loss, const char* doing = "computing");

}  // namespace hftrain::trainer
