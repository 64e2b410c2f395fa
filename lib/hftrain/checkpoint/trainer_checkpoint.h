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
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// What a run goes on from in a folder of the Trainer's, beside the optimizer and trainer_state.json.
struct TrainerResume {
  interchange::TrainerSchedule schedule;
  std::optional<interchange::TrainerScaler> scaler;
  runtime::RandomState random;  // `cpu` is empty where the folder has none of this rank
};

// Names of parameters.
using TrainerGroups = std::vector<std::vector<std::string>>;

// The trained parameters as the Trainer numbers them: those with weight decay, then those without, each in the model's order.
TrainerGroups trainer_groups(const plan::RunPlan& plan, const architectures::ParameterTable& table);

// What the Trainer's files are made of. `state` is that of the checkpoint (hftrain_state.json), `next_rate` the learning rate of
// the next update.
interchange::TrainerRun trainer_run(const plan::RunPlan& plan, const architectures::ParameterTable& table,
                                    const Json& state, double next_rate);

// Fills this rank's parts from optimizer.pt, or from what FSDP left in its place. Error(kData) when it is of another model or another optimizer. `progress` is told of
// every part.
void load_trainer_optimizer(parallel::Strategy& strategy, const TrainerGroups& groups,
                            const std::string& checkpoint, const storage::ByteProgress& progress);

}  // namespace hftrain::checkpoint
