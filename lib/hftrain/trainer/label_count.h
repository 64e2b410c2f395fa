// How many labels of a batch the summed loss is divided by (training_loop.md 7.5 of the contract).
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/architectures/architecture.h"

namespace hftrain::trainer {

// `ids`: [B, T] blocks without padding or ignored labels. The first token of a row has nothing before it to
// be predicted from, so T - 1 labels of a row count, or T where the Trainer counts so.
inline int64_t label_count(const architectures::Architecture& architecture, const at::Tensor& ids) {
  return ids.size(0) * (architecture.counts_first_label() ? ids.size(1) : ids.size(1) - 1);
}

}  // namespace hftrain::trainer
