// Where a run stands: everything that changes while training, apart from tensors. Saved with every
// checkpoint.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::trainer {

// The next batch to fetch: it is data, so resuming seeks and never replays.
struct DataPosition {
  int64_t epoch = 0;
  int64_t batch = 0;   // batches of one rank already used in this epoch
  int64_t before = 0;  // samples of all ranks used in this epoch before `batch` was counted
  // Samples that this epoch's order takes as one group of about one length; 0: as many as the plan says. An epoch
  // keeps its order when a run goes on with batches of another size.
  int64_t length_group = 0;
  // Of a stream: this many rows of the epoch became this many samples, all of them before this place. Where ranks have files
  // of their own it is different on each.
  int64_t rows = 0, row_samples = 0;
  int64_t begun_again =
      0;  // of a rank with files of its own: samples of the epoch before its newest pass through them
  bool of_other_data = false;     // than those sought in; not kept in a checkpoint
  bool of_other_batches = false;  // saved by other ranks, or with batches of another size; not kept either

  // Something of the epoch was used.
  bool inside() const { return batch > 0 || before > 0; }
};

// How batches use up the samples of an epoch.
struct DataPace {
  int64_t round = 0;   // samples that one batch of every rank makes together
  int64_t update = 0;  // samples of an update
  // Batches of an update have different sizes (batch_rebalance), so only whole updates can be counted.
  bool by_updates = false;
};

// The same place for ranks and batches of another size: no sample is repeated or left out.
DataPosition moved_to(const DataPosition& position, const DataPace& saved, const DataPace& pace);

struct State {
  int64_t global_step = 0;
  double epoch = 0;  // epoch index + share of it done
  DataPosition position;
  int64_t last_logged_step = 0;
  double logged_loss_sum = 0;  // sum of all logged accumulators, for the final train_loss
  // Updates whose losses are in no sum: another's checkpoint lay between two records of losses.
  int64_t unknown_losses = 0;
  double total_flos = 0;
  int64_t input_tokens_seen = 0;
  std::optional<double> best_metric;
  int64_t best_step = 0;
  std::string best_checkpoint;  // as given: output_dir/checkpoint-N
  int64_t best_checkpoint_step = 0;
  int64_t skipped_updates = 0;      // non-finite gradients
  bool evaluation_pending = false;  // a stop came before the evaluation due at this step was through
  double train_seconds = 0;         // spent training, over all attempts
  double update_seconds = 0;        // the same without evaluations and saves
  double grad_norm = 0;             // of the last update, for a record that comes after a resume
  double learning_rate = 0;         // that it used
  bool epoch_closed = false;        // what happens at the end of an epoch was done at this step
  // With use_seedable_sampler false: the generator that the order of epoch `order_epoch` is the first of; unset: the
  // order is not drawn.
  std::optional<uint64_t> order_seed;
  int64_t order_epoch = 0;

  // Something of the epoch was used, and its end is still to come.
  bool in_epoch() const { return !epoch_closed && position.inside(); }
};

Json to_json_value(const DataPosition& position);
DataPosition position_from_json(const Json& value);
Json to_json_value(const State& state);
State state_from_json(const Json& value);

}  // namespace hftrain::trainer
