// Whether `accelerate launch` said in the environment of what it started which strategy that is to have. Only then do its
// FSDP_* and ACCELERATE_* variables count.
#pragma once

#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// ACCELERATE_USE_FSDP or ACCELERATE_USE_DEEPSPEED is true.
bool announces_fsdp(const Environment& environment);
bool announces_deepspeed(const Environment& environment);

// The environment without what --use_fsdp false or --use_deepspeed false takes back, which `notes` tells.
Environment without_declined_launches(Environment environment, const std::vector<RawArgument>& raw,
                                      Diagnostics& notes);

}  // namespace hftrain::arguments
