// Turns token blocks into batches of tensors, in the sampler's order, starting anywhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <vector>

#include "hftrain/data/samplers.h"
#include "hftrain/data/token_dataset.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// input_ids: int64 [B, T] on the CPU (pinned when asked). Labels of causal language modelling are the same
// tensor.
struct TokenBatch {
  at::Tensor input_ids;
  std::vector<int64_t> samples;  // which samples, for reports about bad batches
};

// Iterates one rank's batches of one epoch after another. Used by one thread; `prefetch` batches are
// assembled ahead on background threads when it is above 0 (order never changes).
class BatchLoader {
 public:
  BatchLoader(std::shared_ptr<const data::TokenDataset> dataset, data::SamplerOptions sampler,
              int64_t prefetch, bool pin_memory);
  ~BatchLoader();

  // O(1) in the data: only the order of that epoch is computed.
  void seek(DataPosition position);
  // Of one rank in the epoch sought, those after position.before.
  int64_t batches() const { return static_cast<int64_t>(order_.size()); }
  // How much of its epoch lies before a position in the epoch sought, 0 to 1.
  double share_done(const DataPosition& position) const;
  // The next batch of the current epoch, or nullopt at its end.
  std::optional<TokenBatch> next();

 private:
  TokenBatch assemble(const std::vector<int64_t>& samples) const;
  void schedule_ahead();

  std::shared_ptr<const data::TokenDataset> dataset_;
  data::SamplerOptions sampler_;
  int64_t prefetch_;
  bool pin_memory_;
  std::vector<std::vector<int64_t>> order_;
  size_t next_ = 0;       // next batch to hand out
  size_t scheduled_ = 0;  // next batch to start assembling
  std::deque<std::future<TokenBatch>> pending_;
};

}  // namespace hftrain::trainer
