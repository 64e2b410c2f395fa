// dispatch_batches: rank 0 has the batches of all ranks and sends each its own, by the group of the host: a device's would wait for all
// that was handed to it before. Collective: rank 0 calls the one function, all others the other.
#pragma once

#include <optional>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/trainer/loaded_batch.h"

namespace hftrain::trainer {

// By rank; tensors on the CPU. Rank 0's own is there for the count alone. `last`: no other one follows in the epoch.
void send_batches(comm::Communicator& communicator, const std::vector<LoadedBatch>& batches, bool last);
// There is none: at the end of the epoch, or (`last` is false) because the run is to stop before there is.
void send_no_batch(comm::Communicator& communicator, bool last);

struct ReceivedBatch {
  std::optional<LoadedBatch>
      batch;  // this rank's, its tensors on the CPU (pinned when asked); nothing where rank 0 has none
  bool last = false;
};
ReceivedBatch receive_batch(comm::Communicator& communicator, bool pin_memory);

}  // namespace hftrain::trainer
