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
};

// The same place for ranks and batch sizes that use `round` samples at a time where it was `saved_round`: no
// sample is repeated or left out.
DataPosition moved_to(const DataPosition& position, int64_t saved_round, int64_t round);

struct State {
  int64_t global_step = 0;
  double epoch = 0;  // epoch index + share of it done
  DataPosition position;
  int64_t last_logged_step = 0;
  double logged_loss_sum = 0;  // sum of all logged accumulators, for the final train_loss
  double total_flos = 0;
  int64_t input_tokens_seen = 0;
  std::optional<double> best_metric;
  int64_t best_step = 0;
  std::string best_checkpoint;  // as given: output_dir/checkpoint-N
  int64_t best_checkpoint_step = 0;
  int64_t skipped_updates = 0;      // non-finite gradients
  bool evaluation_pending = false;  // a stop came before the evaluation due at this step was through
  double train_seconds = 0;         // spent training, over all attempts
  double grad_norm = 0;             // of the last update, for a record that comes after a resume
  double learning_rate = 0;         // that it used
  bool epoch_closed = false;        // what happens at the end of an epoch was done at this step

  // Something of the epoch was used, and its end is still to come.
  bool in_epoch() const { return !epoch_closed && (position.batch > 0 || position.before > 0); }
};

Json to_json_value(const State& state);
State state_from_json(const Json& value);

}  // namespace hftrain::trainer
