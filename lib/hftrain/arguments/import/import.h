// The import stage: settings of other programs' formats become ParallelOptions (and, for DeepSpeed, values of
// the flags they stand for).
//
// It runs between merge and derive. Before it, merge has decided which value of every flag counts; an
// Accelerate file has already become values of flags at the layer of its file, because the keys of its
// sections are the flags of `accelerate launch` ("fsdp_offload_params", "zero_stage",
// "parallelism_config_dp_shard_size", and use_fsdp or use_deepspeed for its distributed_type). So a reader
// here looks at flags, at the section behind fsdp_config or deepspeed (section.h), and at the environment.
#pragma once

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// Fills outcome.arguments.parallel.sharding. Warnings and notes go to outcome.notes; what contradicts itself,
// has a wrong value or is not done here goes to `problems`.
void import_formats(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
