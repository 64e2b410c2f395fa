// What the first rows of files show to be wrong, before a run starts.
#pragma once

#include "hftrain/data/split_request.h"

namespace hftrain::data {

// Reads some of the first rows of the first files of the split. What prepare() refuses in them is an Error here
// too; columns of `request` are settled.
void look_at_first_rows(const SplitRequest& split, const PrepareRequest& request);

// What the first rows of files that are going to be streamed show to be wrong: the Error that their reading gives.
void look_at_stream(const PrepareRequest& request);

}  // namespace hftrain::data
