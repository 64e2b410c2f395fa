// What the loop will do next, which is also what plug-ins see: intervals set the flags; callbacks may change them (transformers'
// TrainerControl).
#pragma once

#include "hftrain/plugin/callback.h"

namespace hftrain::trainer {

using Control = plugin::Control;

}  // namespace hftrain::trainer
