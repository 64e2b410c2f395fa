// --fsdp with fsdp_config, the fsdp_* flags of `accelerate launch`, and the FSDP_* environment that an
// accelerate launch leaves behind, as ParallelOptions. Rules: F of docs/arguments.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hftrain/arguments/import/import.h"

namespace hftrain::arguments {

// As `accelerate launch` does: --use_fsdp or ACCELERATE_USE_FSDP. Not where --fsdp is false or has no words on the command line, which wins over an Accelerate
// file and the environment.
bool launches_fsdp(const Environment& environment, const ParseOutcome& outcome);

// --fsdp, --use_fsdp or ACCELERATE_USE_FSDP asks for it.
bool asks_for_fsdp(const Environment& environment, const ParseOutcome& outcome);

// FSDP_<KEY>: those that are settings of an announced launch.
std::span<const char* const> fsdp_variables();

// Returns the version (1 or 2) that its settings name, wherever they stand; none when nothing names one.
std::optional<int64_t> import_fsdp(const Environment& environment, ParseOutcome& outcome,
                                   Diagnostics& problems);

}  // namespace hftrain::arguments
