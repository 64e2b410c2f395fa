// Turns samples into batches of tensors, in the sampler's order, starting anywhere.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/data/collator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/samplers.h"
#include "hftrain/trainer/loaded_batch.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Iterates one rank's batches of one epoch after another. Used by one thread; `prefetch` batches are
// assembled ahead on background threads when it is above 0 (order never changes).
class BatchLoader {
 public:
  // With a dispatcher, next() is collective: rank 0 assembles the batches of all ranks and sends them. It must
  // outlive the object.
  BatchLoader(std::shared_ptr<const data::Dataset> dataset, std::shared_ptr<const data::Collator> collator,
              data::SamplerOptions sampler, int64_t prefetch, bool pin_memory,
              comm::Communicator* dispatcher = nullptr);
  ~BatchLoader();

  // O(1) in the data: only the order of that epoch is computed, or of a random one that one.
  void seek(DataPosition position, std::optional<data::DrawnOrder> drawn = std::nullopt);
  // Samples that the order takes as one group of about one length, in epochs whose position does not say.
  int64_t length_group() const { return length_group_; }
  // Of one rank in the epoch sought, those after position.before.
  int64_t batches() const { return static_cast<int64_t>(order_.size()); }
  // How much of its epoch lies before a position in the epoch sought, 0 to 1.
  double share_done(const DataPosition& position) const;
  // The next batch of the current epoch, or nullopt at its end.
  std::optional<LoadedBatch> next();

 private:
  using Round = std::vector<LoadedBatch>;  // of this rank, or of all where rank 0 sends

  bool reads() const;
  Round assemble(size_t number) const;
  LoadedBatch assemble(const std::vector<int64_t>& samples) const;
  Round next_round();
  void schedule_ahead();

  std::shared_ptr<const data::Dataset> dataset_;
  std::shared_ptr<const data::Collator> collator_;
  data::SamplerOptions sampler_;
  int64_t length_group_;
  int64_t prefetch_;
  bool pin_memory_;
  int64_t epoch_ = 0;
  comm::Communicator* dispatcher_;
  std::vector<std::vector<int64_t>> order_;
  std::vector<std::vector<std::vector<int64_t>>> orders_;  // of those that this rank assembles
  size_t next_ = 0;                                        // next batch to hand out
  size_t scheduled_ = 0;                                   // next batch to start assembling
  std::deque<std::future<Round>> pending_;
};

}  // namespace hftrain::trainer
