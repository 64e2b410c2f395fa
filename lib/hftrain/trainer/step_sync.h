// Small exchanges: what all ranks must know before they start an update, and whether they are to stop in the
// middle of something long.
#pragma once

#include <cstdint>

#include "hftrain/comm/communicator.h"
#include "hftrain/trainer/control.h"
#include "hftrain/trainer/stop_request.h"

namespace hftrain::trainer {

// Given: what this rank knows of the coming update. Returned: the sum over ranks, and a stop seen by any
// rank.
struct StepSync {
  int64_t label_tokens = 0;  // that count in the loss
  int64_t input_tokens = 0;  // padding included, unless --include_num_input_tokens_seen leaves it out
  int64_t main_inputs = 0;   // numbers of the main input, padding included
  int64_t samples = 0;
  int64_t saves_at_rest =
      1;  // ranks that have done their part of the save in the background, if there is one
  StopSignal stop = StopSignal::kNone;
};

// Collective.
StepSync sync_step(comm::Communicator& communicator, const StepSync& local);

// The flags that any rank has set. Collective.
Control sync_control(comm::Communicator& communicator, const Control& local);

// For a loop whose rounds all ranks go through together. The ranks ask each other about twice a second, not
// in every round: that would slow down a loop of small steps.
class StopPoll {
 public:
  // `communicator` must outlive the object.
  explicit StopPoll(comm::Communicator& communicator);
  // Once a round on every rank; the answer is the same on all of them.
  StopSignal look();

 private:
  comm::Communicator& communicator_;
  double asked_;            // monotonic seconds
  int64_t rounds_ = 1;      // from one exchange to the next
  int64_t until_next_ = 1;  // rounds
};

}  // namespace hftrain::trainer
