// Attention of whole sequences and its gradients, block by block of queries, on processors whose products are ours (sgemm.h, bgemm.h): a
// block's scores over all keys that its queries may see lie in the second cache, and no score is kept for the way back. The
// recomputation is that of T. Dao et al., "FlashAttention" (2022); rows are whole, so that no sum is rescaled.
#pragma once

#include <cstdint>

#include "hftrain/nn/cpu/bgemm.h"

namespace hftrain::nn::cpu {

// [rows, places, heads, width]: how far the numbers of one row, place and head are from the next; those of a head lie together.
struct Heads {
  const void* data = nullptr;
  int64_t row = 0, place = 0, head = 0;
};

// All operands are float32 (`wide`) or all bfloat16. Scores are in float32; of bfloat16 the weights and their gradients are rounded
// where they are multiplied.
struct BlockAttention {
  int64_t rows, queries, keys, heads, key_heads, width;  // heads is a multiple of key_heads
  bool wide;
  bool causal;     // query i sees the keys up to i alone
  int64_t window;  // causal: and of those the last so many
  float scale;
  Heads query, key, value;
  const bool* seen = nullptr;  // [rows, keys]; null: all
  // [rows, queries], causal: where the document of a query begins, whose keys alone it sees; null: every row is one
  const int64_t* begins = nullptr;
};

// Whether this processor is one on which it is quicker than LibTorch's where a query sees up to `reach` keys, and has what it needs.
bool prefers_block_attention(bool wide, int64_t reach);

// out [rows, queries, heads, width] as the operands, contiguous; log_sums [rows, heads, queries]: log Σ exp(score) of each query,
// infinite where it sees no key: its output is zeros then. Tasks [begin, end) of rows · heads; they do not depend on each other.
void attend_blocks(const BlockAttention& attention, void* out, float* log_sums, int64_t begin, int64_t end);

// What the way back is given, as attend_blocks left it, and what it writes: gradients of the operands, contiguous as `out`.
struct BlockGradients {
  Heads gradient, out;  // of the output, and the output
  const float* log_sums;
  void *of_query, *of_key, *of_value;
};

// Tasks [begin, end) of rows · key_heads.
void attend_blocks_backward(const BlockAttention& attention, const BlockGradients& gradients, int64_t begin,
                            int64_t end);

// The same bits in two steps for more threads: tasks of rows · heads, of which each leaves what its head gives to the gradients of keys
// and values in `of_heads` [rows, heads, 2, keys, width]; behind all of them tasks of rows · key_heads.
void attend_heads_backward(const BlockAttention& attention, const BlockGradients& gradients, float* of_heads,
                           int64_t begin, int64_t end);
void add_heads_backward(const BlockAttention& attention, const BlockGradients& gradients, float* of_heads,
                        int64_t begin, int64_t end);

}  // namespace hftrain::nn::cpu
