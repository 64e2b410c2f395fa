// Token and position embeddings.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// Rows `ids` [B, T] (int64) of `table` [V, C].
at::Tensor embed_tokens(const at::Tensor& table, const at::Tensor& ids);

// x [B, T, C] plus the first T rows of `table` [P, C]; T > P is an Error (exit code 4).
at::Tensor add_positions(const at::Tensor& x, const at::Tensor& table);

// NEFTune (training_loop.md 7.10): x [B, T, C] plus uniform(−a, a) per element, a = alpha/sqrt(T·C). Training
// only.
at::Tensor add_neftune_noise(const at::Tensor& x, double alpha);

}  // namespace hftrain::nn
