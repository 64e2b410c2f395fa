// Embeddings of tokens, positions and token types.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace hftrain::nn {

// Rows `ids` [B, T] (int64) of `table` [V, C]: of tokens, positions or token types. The row `padding`, where
// one is named, gets no gradient.
at::Tensor embed_tokens(const at::Tensor& table, const at::Tensor& ids,
                        std::optional<int64_t> padding = std::nullopt);

// x [B, T, C] plus rows first … first + T − 1 of `table` [P, C]; first + T > P is an Error (exit code 4).
at::Tensor add_positions(const at::Tensor& x, const at::Tensor& table, int64_t first = 0);

// Positions of ids [B, T] that leave padding out: padding + 1, + 2, … over the tokens that are not `padding`, which stay
// at `padding`. int64 [B, T].
at::Tensor positions_without_padding(const at::Tensor& ids, int64_t padding);

// x [B, T, C] plus the rows `positions` [B, T] of `table` [P, C]. The row `padding`, where one is named, gets
// no gradient. On the CPU a position beyond the table's end is an Error (exit code 4).
at::Tensor add_position_rows(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions,
                             std::optional<int64_t> padding = std::nullopt);

// x [B, T, C] plus the rows `types` [B, T] of `table` [K, C]; undefined types are all 0. On the CPU a type
// outside the table is an Error (exit code 4).
at::Tensor add_token_types(const at::Tensor& x, const at::Tensor& table, const at::Tensor& types);

// [T, C] float32, of positions that are not learned: row t, column j is sin (j even) or cos (j odd) of
// t / 10000^(2·⌊j/2⌋/C); Vaswani et al. 2017, section 3.5. In float64 until the end, as transformers does.
at::Tensor sinusoids(int64_t positions, int64_t columns);

// NEFTune (arXiv 2310.05914): x [B, T, C] plus uniform(−a, a) per element, a = alpha/sqrt(T·C). Training
// only.
at::Tensor add_neftune_noise(const at::Tensor& x, double alpha);

}  // namespace hftrain::nn
