// The kernel of cpu/block_attention.h as one of the forms of attention(), with gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/attention.h"

namespace hftrain::nn {

// Whether there is a kernel for these that is quicker here than LibTorch's. Operands as those of attention().
bool is_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionMask& mask, const AttentionOptions& options);

// Of such operands; as attention(). The same bits for any number of threads.
at::Tensor attention_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const AttentionMask& mask, const AttentionOptions& options);

}  // namespace hftrain::nn
