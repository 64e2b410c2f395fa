// The optimizer's tensors to and from optimizer/ of a checkpoint (see state_parts.h).
#pragma once

#include <string>

#include "hftrain/checkpoint/save_target.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// This rank's parts; a rank that writes none makes no file.
void save_optimizer(parallel::Strategy& strategy, int rank, SaveTarget& target);
// Error(kData) naming the first tensor that is missing or of another shape. `progress` is told of every part.
void load_optimizer(parallel::Strategy& strategy, const std::string& checkpoint,
                    const storage::ByteProgress& progress = {});

}  // namespace hftrain::checkpoint
