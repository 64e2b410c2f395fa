// What a run begins with or goes on from: weights, an adapter, the optimizer's state.
#pragma once

#include <string>
#include <vector>

#include "hftrain/checkpoint/checkpoint_contents.h"
#include "hftrain/checkpoint/checkpointed_run.h"
#include "hftrain/checkpoint/trainer_checkpoint.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/storage/stored_weights.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// The folder holds what a run needs to go on as if it had not stopped, beside the model.
bool has_training_state(const std::string& checkpoint);

// Functions are collective unless they say otherwise: what one rank cannot do fails on all.
class RunLoader {
 public:
  // `progress` is told of the bytes that this rank reads.
  explicit RunLoader(const CheckpointedRun& run, storage::ByteProgress progress = {})
      : run_(run), progress_(std::move(progress)) {}

  // Fills this rank's parts of the parameters from a transformers folder or a checkpoint. After prepare the
  // strategy is to be told: parameters_changed().
  LoadedWeights load_model(const std::string& folder, const OpeningRules& rules = {});
  // The same of an adapter that a new run begins with.
  void load_adapter_of(const std::string& folder);
  // The same of what this run goes on from, or of its best model, which another trainer may have saved: of a run that trains an
  // adapter this alone.
  void load_saved(const std::string& folder);
  // Opens what load_saved would load. Error(kData) for what it lacks or has in another shape. Not collective.
  void check_saved(const std::string& folder) const;
  // Fills the optimizer and returns the rest. The trainer_state text stays empty. A rank that the saved run
  // did not have gets no random state; when the number of ranks differs, each gets the mean of the running
  // losses.
  CheckpointContents load_training_state(const std::string& checkpoint);
  // The same of a folder that transformers' Trainer wrote (interchange::has_trainer_optimizer).
  TrainerResume load_trainer_state(const std::string& checkpoint);

 private:
  using OpenWeights = storage::StoredWeights (*)(const std::string& folder);
  LoadedWeights load_weights_of(OpenWeights open, const std::string& folder, const OpeningRules& rules);
  void load_adapter_by(OpenWeights open, const std::string& folder);
  // Collective: what the optimizer of any rank keeps of a parameter.
  std::vector<std::string> kept_by_all();

  const CheckpointedRun run_;
  const storage::ByteProgress progress_;
};

}  // namespace hftrain::checkpoint
