// What accelerate leaves of FSDP in a checkpoint, by the names of parameters: with SHARDED_STATE_DICT folders of
// torch.distributed.checkpoint with the model and the optimizer, with FULL_STATE_DICT a file of torch.save for each.
// Names: https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/fsdp_utils.py
#pragma once

#include <string>

#include "hftrain/interchange/dcp_folder.h"
#include "hftrain/interchange/optimizer_states.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::interchange {

inline constexpr const char* kFsdpModel = "pytorch_model_fsdp_0";
inline constexpr const char* kFsdpOptimizer = "optimizer_0";
inline constexpr const char* kFsdpModelFile = "pytorch_model_fsdp.bin";
inline constexpr const char* kFsdpOptimizerFile = "optimizer.bin";

// In either form; the folder counts where there are both.
bool has_fsdp_model(const std::string& checkpoint);
bool has_fsdp_optimizer(const std::string& checkpoint);

// Whether the model that it has, or is by itself, is an adapter, under the names of peft's files; beside parts there is no adapter_config.json. Error(kData).
bool is_fsdp_adapter(const std::string& checkpoint);

// The model in a folder of torch.distributed.checkpoint by itself, where it stands below "model." or by the names that it has;
// without what begins with "optim". What `accelerate merge-weights` takes. Error(kData).
storage::StoredWeights open_dcp_model(const std::string& folder, Checksums checksums = Checksums::kLeft);

// Under transformers' names. Error(kData).
storage::StoredWeights open_fsdp_model(const std::string& checkpoint, Checksums checksums = Checksums::kLeft);
OptimizerStates open_fsdp_optimizer(const std::string& checkpoint, Checksums checksums = Checksums::kLeft);

}  // namespace hftrain::interchange
