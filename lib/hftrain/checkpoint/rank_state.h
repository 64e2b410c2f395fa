// What each rank keeps to itself in a checkpoint: its random streams and its part of the running loss.
#pragma once

#include <string>

#include "hftrain/checkpoint/save_target.h"
#include "hftrain/runtime/random_state.h"

namespace hftrain::checkpoint {

struct RankState {
  runtime::RandomState random;
  float loss_sum = 0;  // micro-batch losses since the last log record
};

// rng/rank-00000.safetensors, one file a rank.
void save_rank_state(const RankState& state, int rank, SaveTarget& target);
// Error(kData) when the checkpoint has no state of this rank (it was made with fewer ranks).
RankState load_rank_state(const std::string& checkpoint, int rank);
bool has_rank_state(const std::string& checkpoint, int rank);
// Over the ranks that saved: what every rank of another number of ranks goes on from, so that their mean,
// which is what is logged, stays the same.
float mean_loss_sum(const std::string& checkpoint, int saved_ranks);

}  // namespace hftrain::checkpoint
