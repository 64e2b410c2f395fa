// Whole checkpoints of a run: who writes what, and the commit that makes them visible.
//
// checkpoint-N/ holds what transformers writes (config, weights, tokenizer files, trainer_state.json) and our
// own state (optimizer/, rng/, hftrain_state.json, manifest.json). With a sharded state dict the weights are
// in model/, as every rank's parts. Page: docs/checkpoint_format.md
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/checkpoint/rank_state.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/file_system.h"

namespace hftrain::checkpoint {

// What the trainer adds to the tensors.
struct CheckpointContents {
  int64_t step = 0;
  Json training_state;        // position, schedule, scaler, best metric, …: equal on all ranks
  std::string trainer_state;  // text of trainer_state.json
  RankState rank_state;       // of this rank
};

// All functions are collective. Files are written by one thread per rank; rank 0 commits. A rank holds at
// most one tensor more than it trains with: the one on its way.
class Checkpointer {
 public:
  // `weight_dtype` is that of the parameters. `files` is the real file system but in tests. All references
  // must outlive the object.
  Checkpointer(const plan::RunPlan& plan, const architectures::ParameterTable& table,
               at::ScalarType weight_dtype, parallel::Strategy& strategy, comm::Communicator& communicator,
               storage::FileSystem& files);

  // Writes, commits and verifies checkpoint-N; returns its path. When any rank fails nothing is committed,
  // earlier checkpoints stay, and every rank throws with the exit code of the first failure.
  std::string save(const CheckpointContents& contents);

  // Fills this rank's parts of the parameters from a transformers folder or a checkpoint. Returns stored
  // tensors that nothing asked for. After prepare the strategy is to be told: parameters_changed().
  std::vector<std::string> load_model(const std::string& folder);
  // Fills the optimizer and returns the rest. The trainer_state text stays empty. A rank that the saved run
  // did not have gets no random state; when the number of ranks differs, each gets the mean of the running
  // losses.
  CheckpointContents load_training_state(const std::string& checkpoint);

  // The plain transformers folder, each file replaced atomically.
  void export_model(const std::string& folder);

 private:
  std::optional<Error> write_files(const CheckpointContents& contents, storage::StagedFiles& target);
  void write_model(storage::StagedFiles* target);
  void publish_model(storage::StagedFiles& staged, const std::string& folder);

  const plan::RunPlan& plan_;
  const architectures::ParameterTable& table_;
  at::ScalarType weight_dtype_;
  parallel::Strategy& strategy_;
  comm::Communicator& communicator_;
  storage::FileSystem& files_;
};

}  // namespace hftrain::checkpoint
