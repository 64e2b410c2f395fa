// Whether `accelerate launch` said in the environment of what it started which strategy that is to have. Only then do its
// FSDP_* and ACCELERATE_* variables count.
#pragma once

#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// ACCELERATE_USE_FSDP or ACCELERATE_USE_DEEPSPEED is true.
bool announces_fsdp(const Environment& environment);
bool announces_deepspeed(const Environment& environment);

}  // namespace hftrain::arguments
