// What a checkpoint holds beside the tensors.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/base/json.h"
#include "hftrain/checkpoint/rank_state.h"

namespace hftrain::checkpoint {

inline constexpr const char* kTrainingStateName = "hftrain_state.json";

// What the trainer adds to the tensors.
struct CheckpointContents {
  int64_t step = 0;
  Json training_state;        // position, schedule, scaler, best metric, …: equal on all ranks
  std::string trainer_state;  // text of trainer_state.json
  RankState rank_state;       // of this rank
  double next_rate = 0;       // learning rate of the next update; read with saving.for_trainer alone
};

}  // namespace hftrain::checkpoint
