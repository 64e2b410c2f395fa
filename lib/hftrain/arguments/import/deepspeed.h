// --deepspeed (a file, JSON text, base64 or a mapping), the DeepSpeed flags of `accelerate launch` and the
// environment that it leaves behind, as values of flags, ParallelOptions and DeepSpeedOptions. Rules: those of
// docs/arguments.md that begin with D.
#pragma once

#include "hftrain/arguments/import/import.h"

namespace hftrain::arguments {

// --deepspeed, --use_deepspeed, --zero_stage or ACCELERATE_USE_DEEPSPEED asks for it.
bool asks_for_deepspeed(const Environment& environment, const ParseOutcome& outcome);

void import_deepspeed(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
