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
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_source.h"
#include "hftrain/trainer/loaded_batch.h"
#include "hftrain/trainer/loader_threads.h"
#include "hftrain/trainer/round_source.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Iterates one rank's batches of one epoch after another. Used by one thread; `prefetch` batches are
// assembled ahead when it is above 0, by `workers` threads (order never changes).
class BatchLoader final : public BatchSource {
 public:
  struct Options {
    uint64_t seed = 42;  // of what collators draw
    int64_t workers = 1, prefetch = 0;
    bool pin_memory = false;
    at::Device device = at::kCPU;  // where the batches go from here
    int64_t length_group = 0;
    // With a dispatcher, next() is collective: rank 0 assembles the batches of all ranks and sends them. It must
    // outlive the object.
    comm::Communicator* dispatcher = nullptr;
  };

  // What the plan asks of threads and memory, for batches that go to `device`.
  static Options of_plan(const plan::DataPlan& data, at::Device device);

  BatchLoader(std::unique_ptr<RoundSource> rounds, std::shared_ptr<const data::Collator> collator,
              const Options& options);
  // Of prepared data that this rank reads for itself.
  BatchLoader(std::shared_ptr<const data::Dataset> dataset, std::shared_ptr<const data::Collator> collator,
              const data::SamplerOptions& sampler, int64_t prefetch, bool pin_memory);
  ~BatchLoader() override;

  void seek(DataPosition position, std::optional<data::DrawnOrder> drawn = std::nullopt) override;
  int64_t length_group() const override { return options_.length_group; }
  // Of one rank in the epoch sought, those after position.before; unset: nobody knows before the end.
  std::optional<int64_t> batches() const { return rounds_->batches(); }
  double share_done(const DataPosition& position) const override { return rounds_->share_done(position); }
  void mark(DataPosition& position) const override { rounds_->mark(position); }
  bool at_end(const DataPosition& position) override;
  std::optional<LoadedBatch> next() override;

 private:
  using Round = std::vector<LoadedBatch>;  // of this rank, or of all where rank 0 sends

  bool reads() const;
  Round assemble(const BatchRound& round, int64_t epoch) const;
  LoadedBatch assemble(const data::Dataset& dataset, const std::vector<int64_t>& samples,
                       int64_t epoch) const;
  std::optional<LoadedBatch> receive();
  RoundsLeft left() { return pending_.empty() ? rounds_->left() : RoundsLeft::kSome; }
  bool nothing_seems_left();
  Round next_round();
  void schedule_ahead();

  std::unique_ptr<RoundSource> rounds_;
  std::shared_ptr<const data::Collator> collator_;
  Options options_;
  int64_t epoch_ = 0;
  bool asked_ = false;  // for a batch, since the epoch was sought
  bool ended_ = false;  // the last batch of the epoch was handed out, as far as that has been told
  std::deque<std::future<Round>> pending_;  // fetched ahead
  LoaderThreads threads_;                   // use the above
};

}  // namespace hftrain::trainer
