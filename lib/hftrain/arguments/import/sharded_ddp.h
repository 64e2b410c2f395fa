// --sharded_ddp, FairScale's sharding in old versions of transformers, as ParallelOptions. Rules: S of
// docs/arguments.md.
#pragma once

#include "hftrain/arguments/import/import.h"

namespace hftrain::arguments {

bool asks_for_sharded_ddp(const ParseOutcome& outcome);

void import_sharded_ddp(ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
