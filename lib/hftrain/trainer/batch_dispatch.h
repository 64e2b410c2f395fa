// dispatch_batches: rank 0 has the batches of all ranks and sends each its own. Collective: rank 0 calls the one
// function, all others the other.
#pragma once

#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/trainer/loaded_batch.h"

namespace hftrain::trainer {

// By rank; tensors on the CPU. Rank 0's own is there for the count alone.
void send_batches(comm::Communicator& communicator, const std::vector<LoadedBatch>& batches);
// This rank's tensors, on the CPU (pinned when asked); `samples` is empty.
LoadedBatch receive_batch(comm::Communicator& communicator, bool pin_memory);

}  // namespace hftrain::trainer
