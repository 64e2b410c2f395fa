// Which GPUs a run may see: --gpu_ids and the slots of a host file, which become CUDA_VISIBLE_DEVICES.
#pragma once

#include <optional>
#include <string>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// After import_machines(). --gpu_ids in outcome.exported_environment: positions inside a mask that the environment has, as is
// told. Where a host file says which GPUs there are, only what is no number is refused here.
void import_gpu_ids(const Environment& environment, ParseOutcome& outcome, Diagnostics& unrunnable);

// After parse_arguments(), of a host file that is read on every machine (--no_ssh): the slots that a filter chose for this
// one ("1,3") take the place of a mask that the environment or a file's `env:` has, which is told, and --gpu_ids chooses
// among them, as on a machine that the starter of a host file reached. Without slots it chooses in that mask. Throws
// InvalidArguments for a number that is no position there.
void take_slots(const std::optional<std::string>& slots, const Environment& environment,
                ParseOutcome& outcome);

}  // namespace hftrain::arguments
