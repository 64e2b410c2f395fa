// --parallelism_config and the parallelism_config_* flags: the sizes of the mesh of hybrid sharding.
#pragma once

#include "hftrain/arguments/import/import.h"

namespace hftrain::arguments {

// Runs after the readers that name a strategy, which the sizes may turn into its hybrid form. Rule F12; that
// the sizes multiply to the number of ranks is checked with the plan.
void import_parallelism_config(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
