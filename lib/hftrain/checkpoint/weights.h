// Model weights to and from transformers folders, under the exact transformers names.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::checkpoint {

// Fills `parameters` (in the table's order, any dtype and device) from `weights`. A stored name may lack the
// base prefix ("h.0…" for "transformer.h.0…") or stand under its tied alias. Error(kData) for a missing
// tensor, a wrong shape, or tied tensors that differ in the file. Returns the stored tensors that nothing
// asked for, apart from known buffers: worth a warning.
std::vector<std::string> load_weights(const architectures::ParameterTable& table,
                                      const std::vector<at::Tensor>& parameters,
                                      const storage::ModelWeights& weights);

// Writes model.safetensors, or shards of at most `max_shard_bytes` and their index. One tensor at a time is
// on the host.
void save_weights(const architectures::ParameterTable& table, const std::vector<at::Tensor>& parameters,
                  int64_t max_shard_bytes, storage::StagedFiles& target);

}  // namespace hftrain::checkpoint
