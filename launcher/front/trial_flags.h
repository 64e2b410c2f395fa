// What the trials of a search have in common: by it a search that goes on is known to be the one that began.
#pragma once

#include "hftrain/arguments/parse.h"
#include "hftrain/base/json.h"
#include "hftrain/search/space.h"

namespace hftrain::front {

// Values of flags that decide what a trial learns and how it is judged, where they are not the defaults, wherever they were given.
// Not those that the space draws, nor what says only where things lie, how fast a run goes and what is shown of it.
// Paths are absolute and normal.
Json common_flags(const arguments::ParseOutcome& parsed, const search::Space& space);
// Such flags as an earlier version may have recorded them: without those that are free by now, and with paths as above.
Json compared_flags(Json flags);
// Whether the space draws what says how many ranks a trial has, so that trials may differ in it.
bool draws_ranks(const search::Space& space);

}  // namespace hftrain::front
