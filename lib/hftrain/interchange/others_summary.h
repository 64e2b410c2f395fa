// What is in a checkpoint that hftrain did not write, from its headers: of transformers' Trainer, in one place or in the parts of
// FSDP, and any folder of torch.distributed.checkpoint.
#pragma once

#include <optional>
#include <string>

#include "hftrain/storage/checkpoint_summary.h"

namespace hftrain::interchange {

// Nothing of any other folder. Error(kData) when it is damaged.
std::optional<storage::CheckpointSummary> summarize_others(const std::string& folder);

}  // namespace hftrain::interchange
