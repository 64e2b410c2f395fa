// What accelerate leaves of FSDP in a checkpoint with SHARDED_STATE_DICT: folders of torch.distributed.checkpoint with the model and
// the optimizer, by the names of parameters.
// Names: https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/fsdp_utils.py
#pragma once

#include <string>

#include "hftrain/interchange/dcp_folder.h"
#include "hftrain/interchange/optimizer_states.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::interchange {

inline constexpr const char* kFsdpModel = "pytorch_model_fsdp_0";
inline constexpr const char* kFsdpOptimizer = "optimizer_0";

bool has_fsdp_model(const std::string& checkpoint);
bool has_fsdp_optimizer(const std::string& checkpoint);

// Under transformers' names. Error(kData).
storage::StoredWeights open_fsdp_model(const std::string& checkpoint,
                                       DcpFolder::Checksums checksums = DcpFolder::Checksums::kLeft);
OptimizerStates open_fsdp_optimizer(const std::string& checkpoint,
                                    DcpFolder::Checksums checksums = DcpFolder::Checksums::kLeft);

}  // namespace hftrain::interchange
