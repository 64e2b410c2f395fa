// The files that transformers' Trainer goes on from, made of a checkpoint of ours: optimizer.pt, scheduler.pt, rng_state*.pth and,
// with a loss scale, scaler.pt. They are written from the checkpoint's own files, so they are the same for every strategy and number
// of ranks, and hold no tensor in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/storage/checkpoint_folder.h"

namespace hftrain::interchange {

struct TrainerLossScale {
  double scale = 0;
  int64_t good_updates = 0, growth_interval = 2000;
};

// Of AdamW and a schedule by steps.
struct TrainerRun {
  std::vector<std::vector<std::string>> groups;  // names: of what decays, and of norms and biases
  std::vector<double> weight_decays;             // of each
  double beta1 = 0, beta2 = 0, epsilon = 0;
  bool fused = false;
  double base_rate = 0, next_rate = 0;  // `next_rate` of the update that comes
  int64_t steps = 0;                    // of the schedule
  uint64_t seed = 0;  // Python's and numpy's random numbers begin with it: nothing here draws any
  int world_size = 1, ranks_per_node = 1;
  std::optional<TrainerLossScale> loss_scale;
};

// `target` is the folder of the checkpoint, with optimizer/ and rng/ of all ranks in place. Error(kData) when state of a parameter is
// not there.
void write_trainer_files(const TrainerRun& run, storage::StagedFiles& target);

}  // namespace hftrain::interchange
