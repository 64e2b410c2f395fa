#include "hftrain/trainer/agreement.h"

#include <ATen/ops/empty.h>

namespace hftrain::trainer {

Agreement agree(comm::Communicator& communicator, const Agreement& own) {
  if (communicator.world_size() == 1) return own;
  at::Tensor facts = at::empty({4}, at::kLong);
  int64_t* values = facts.data_ptr<int64_t>();
  values[0] = own.label_tokens;
  values[1] = own.input_tokens;
  values[2] = own.stop == StopSignal::kTerminate ? 1 : 0;
  values[3] = own.stop == StopSignal::kInterrupt ? 1 : 0;
  facts = facts.to(communicator.device());
  communicator.all_reduce(facts, comm::Reduction::kSum);
  facts = facts.cpu();
  values = facts.data_ptr<int64_t>();
  const StopSignal seen = values[2] > 0   ? StopSignal::kTerminate
                          : values[3] > 0 ? StopSignal::kInterrupt
                                          : StopSignal::kNone;
  return {values[0], values[1], seen};
}

}  // namespace hftrain::trainer
