// The one small exchange of an update: what all ranks must know before they start it.
#pragma once

#include <cstdint>

#include "hftrain/comm/communicator.h"
#include "hftrain/trainer/stop_request.h"

namespace hftrain::trainer {

// Given: what this rank knows of the coming update. Returned: the sum over ranks, and a stop seen by any
// rank.
struct Agreement {
  int64_t label_tokens = 0;  // that count in the loss
  int64_t input_tokens = 0;  // padding included
  StopSignal stop = StopSignal::kNone;
};

// Collective.
Agreement agree(comm::Communicator& communicator, const Agreement& own);

}  // namespace hftrain::trainer
