// The optimizer's tensors to and from optimizer/ of a checkpoint (see state_parts.h).
#pragma once

#include <string>
#include <vector>

#include "hftrain/checkpoint/save_target.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// This rank's parts; a rank that writes none makes no file.
void save_optimizer(parallel::Strategy& strategy, int rank, SaveTarget& target);
// What this rank's optimizer keeps of its parameters ("exp_avg", …), each once; nothing where it holds no part of any.
std::vector<std::string> kept_states(parallel::Strategy& strategy);
// `kept` is what the optimizers of all ranks keep, so that each judges alike. Error(kData) naming the first tensor that is missing, of
// another shape, or nothing that they keep. `progress` is told of every part.
void load_optimizer(parallel::Strategy& strategy, const std::vector<std::string>& kept,
                    const std::string& checkpoint, const storage::ByteProgress& progress = {});

}  // namespace hftrain::checkpoint
