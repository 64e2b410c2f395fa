// Attention of the next tokens of texts over all that a cache remembers of them: few queries, many keys, no gradient. Every query is
// computed as it would be without the others, whatever the number of threads.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

// [rows, places, heads, width] float32: how far the numbers of one row, place and head are from the next; those of a head lie together.
struct HeadsView {
  const float* data;
  int64_t row, place, head;
};

struct StepAttention {
  int64_t rows, queries, heads, key_heads, width;  // heads is a multiple of key_heads
  int64_t places;                                  // keys of a row
  int64_t past;                                    // query i sees the first past + i + 1 of them, at most all
  int64_t window;                                  // and of those the last so many
  float scale;
  HeadsView query, key, value;
  const bool* seen = nullptr;  // [rows, places], rows `seen_row` apart; null: all
  int64_t seen_row = 0;
  const float* bias =
      nullptr;  // [rows, heads, queries, places] with these strides, added to scaled scores; null: none
  int64_t bias_row = 0, bias_head = 0, bias_query = 0;
  float* out = nullptr;  // [rows, queries, heads, width]
};

// The heads [begin, end) of rows · heads. A query that sees no key gets zeros; with a bias what it may not see has the least score.
void attend_step(const StepAttention& step, int64_t begin, int64_t end);

}  // namespace hftrain::nn::cpu
