// --sharded_ddp, FairScale's sharding in old versions of transformers, as ParallelOptions. Rules S1 to S6 of
// the contract (parallel_configs.md 4.6).
#pragma once

#include "hftrain/arguments/import/import.h"

namespace hftrain::arguments {

bool asks_for_sharded_ddp(const ParseOutcome& outcome);

void import_sharded_ddp(ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
