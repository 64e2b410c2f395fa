// dispatch_batches: rank 0 has the batches of all ranks and sends each its own. Collective: rank 0 calls the one
// function, all others the other.
#pragma once

#include <optional>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/trainer/loaded_batch.h"

namespace hftrain::trainer {

// By rank; tensors on the CPU. Rank 0's own is there for the count alone. `last`: no other one follows in the epoch.
void send_batches(comm::Communicator& communicator, const std::vector<LoadedBatch>& batches, bool last);
// There is none in the epoch.
void send_no_batch(comm::Communicator& communicator);

struct ReceivedBatch {
  LoadedBatch batch;  // this rank's, its tensors on the CPU (pinned when asked)
  bool last = false;
};
// Nothing where rank 0 has none.
std::optional<ReceivedBatch> receive_batch(comm::Communicator& communicator, bool pin_memory);

}  // namespace hftrain::trainer
