// Checkpoints that transformers' Trainer reads or wrote, on this side of the strategies: which parameters its optimizer numbers in
// which order, and its state into this run's optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/trainer_files.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/storage/stored_weights.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// What a run goes on from in a folder of the Trainer's, beside the optimizer and trainer_state.json.
struct TrainerResume {
  interchange::TrainerSchedule schedule;
  std::optional<interchange::TrainerScaler> scaler;
  std::vector<std::string> without_state;  // load_trainer_optimizer
  runtime::RandomState random;             // `cpu` is empty where the folder has none of this rank
};

// Names of parameters.
using TrainerGroups = std::vector<std::vector<std::string>>;

// The trained parameters as the Trainer numbers them: those with weight decay, then those without, each in the model's order.
TrainerGroups trainer_groups(const plan::RunPlan& plan, const architectures::ParameterTable& table);

// What the Trainer's files are made of. `state` is that of the checkpoint (hftrain_state.json), `next_rate` the learning rate of
// the next update.
interchange::TrainerRun trainer_run(const plan::RunPlan& plan, const architectures::ParameterTable& table,
                                    const Json& state, double next_rate);

// The adapter that a run goes on from, under the names of adapter_model.safetensors: that file, or the float32 that DeepSpeed goes on
// from itself.
storage::StoredWeights open_saved_adapter(const std::string& folder);

// Fills this rank's parts from optimizer.pt, or from what FSDP or DeepSpeed left in its place, which may call parameters as modules
// of `table` are called in memory. `kept` is what the optimizers of all ranks keep, so that each judges alike. Gives the names of those parameters that this run trains and of which it has no state, because
// no update has reached them: theirs stays as it began. Error(kData) when it has state of none, or is of another model or another
// optimizer. `progress` is told of every part.
std::vector<std::string> load_trainer_optimizer(parallel::Strategy& strategy,
                                                const std::vector<std::string>& kept,
                                                const TrainerGroups& groups,
                                                const architectures::ParameterTable& table,
                                                const std::string& checkpoint,
                                                const storage::ByteProgress& progress);

}  // namespace hftrain::checkpoint
