// --parallelism_config and the parallelism_config_* flags: the sizes of the mesh of hybrid sharding.
#pragma once

#include <cstdint>
#include <optional>

#include "hftrain/arguments/import/import.h"

namespace hftrain::arguments {

// Runs after the readers that name a strategy, of which FSDP's may become hybrid by the sizes. Rule F12; that
// the sizes multiply to the number of ranks is checked with the plan. `fsdp_version`: what import_fsdp returned.
void import_parallelism_config(const Environment& environment, std::optional<int64_t> fsdp_version,
                               ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
