// Turns samples into batches of tensors, in the sampler's order, starting anywhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "hftrain/data/collator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/samplers.h"
#include "hftrain/models/batch.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// The tensors that the collator gives, on the CPU (pinned when asked).
struct LoadedBatch {
  models::Batch tensors;
  std::vector<int64_t> samples;  // which samples, for reports about bad batches
};

// A column by its name; an Error (exit code 1) when batches know none of that name.
const at::Tensor& column_of(const models::Batch& batch, const std::string& name);

// The same columns on `device`; columns that are one tensor stay one.
models::Batch on_device(const models::Batch& batch, at::Device device);

// Iterates one rank's batches of one epoch after another. Used by one thread; `prefetch` batches are
// assembled ahead on background threads when it is above 0 (order never changes).
class BatchLoader {
 public:
  BatchLoader(std::shared_ptr<const data::Dataset> dataset, std::shared_ptr<const data::Collator> collator,
              data::SamplerOptions sampler, int64_t prefetch, bool pin_memory);
  ~BatchLoader();

  // O(1) in the data: only the order of that epoch is computed.
  void seek(DataPosition position);
  // Samples that the order takes as one group of about one length, in epochs whose position does not say.
  int64_t length_group() const { return length_group_; }
  // Of one rank in the epoch sought, those after position.before.
  int64_t batches() const { return static_cast<int64_t>(order_.size()); }
  // How much of its epoch lies before a position in the epoch sought, 0 to 1.
  double share_done(const DataPosition& position) const;
  // The next batch of the current epoch, or nullopt at its end.
  std::optional<LoadedBatch> next();

 private:
  LoadedBatch assemble(const std::vector<int64_t>& samples) const;
  void schedule_ahead();

  std::shared_ptr<const data::Dataset> dataset_;
  std::shared_ptr<const data::Collator> collator_;
  data::SamplerOptions sampler_;
  int64_t length_group_;
  int64_t prefetch_;
  bool pin_memory_;
  int64_t epoch_ = 0;
  std::vector<std::vector<int64_t>> order_;
  size_t next_ = 0;       // next batch to hand out
  size_t scheduled_ = 0;  // next batch to start assembling
  std::deque<std::future<LoadedBatch>> pending_;
};

}  // namespace hftrain::trainer
