// Whole checkpoints of a run: who writes what, and the commit that makes them visible.
//
// checkpoint-N/ holds what transformers writes (config, weights, tokenizer files, trainer_state.json) and our
// own state (optimizer/, optimizer.json, rng/, hftrain_state.json, manifest.json). Page:
// docs/checkpoint_format.md
#pragma once

#include <string>

#include "hftrain/architectures/architecture.h"
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

// All functions but export_model are collective. Files are written by one thread per rank; rank 0 commits.
class Checkpointer {
 public:
  // `parameters` are the model's, in the table's order. `files` is the real file system but in tests. All
  // references must outlive the object.
  Checkpointer(const plan::RunPlan& plan, const architectures::ParameterTable& table,
               const std::vector<at::Tensor>& parameters, parallel::Strategy& strategy,
               comm::Communicator& communicator, storage::FileSystem& files);

  // Writes, commits and verifies checkpoint-N; returns its path. When any rank fails nothing is committed,
  // earlier checkpoints stay, and every rank throws with the exit code of the first failure.
  std::string save(const CheckpointContents& contents);

  // Fills the model from a transformers folder or a checkpoint. Returns stored tensors that nothing asked
  // for.
  std::vector<std::string> load_model(const std::string& folder);
  // Fills the optimizer and returns the rest. The trainer_state text stays empty. A checkpoint of another
  // world size gives every rank the state of rank 0, with the random streams as they are.
  CheckpointContents load_training_state(const std::string& checkpoint);

  // Rank 0 only: the plain transformers folder, each file replaced atomically.
  void export_model(const std::string& folder);

 private:
  void write_files(const CheckpointContents& contents, storage::StagedFiles& target);
  void write_optimizer(storage::StagedFiles& target);
  void read_optimizer(const std::string& checkpoint);

  const plan::RunPlan& plan_;
  const architectures::ParameterTable& table_;
  const std::vector<at::Tensor>& parameters_;
  parallel::Strategy& strategy_;
  comm::Communicator& communicator_;
  storage::FileSystem& files_;
};

}  // namespace hftrain::checkpoint
