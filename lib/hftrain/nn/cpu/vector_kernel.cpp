#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "hftrain/nn/cpu/word_kernel.h"

namespace hftrain::nn::cpu {
namespace {

constexpr int kWordRows = 12, kWordColumns = 32;  // of a tile

// A tile of 12 × 32: left[word·12 + i], right[word·32 + j].
HFTRAIN_AVX512_BF16 void multiply_words(int64_t words, const uint32_t* left, const uint32_t* right,
                                        const float* bias, bool add, float* out, int64_t stride,
                                        const Ahead& ahead) {
  __m512 sum[kWordRows][2];
#pragma GCC unroll 12
  for (int i = 0; i < kWordRows; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
  const char* next = ahead.at;
  for (int64_t word = 0; word < words; ++word) {
    ask_ahead(ahead, word, next);
    const auto first = reinterpret_cast<__m512bh>(_mm512_load_si512(right));
    const auto second = reinterpret_cast<__m512bh>(_mm512_load_si512(right + kLanes));
#pragma GCC unroll 12
    for (int i = 0; i < kWordRows; ++i) {
      const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left[i])));
      sum[i][0] = _mm512_dpbf16_ps(sum[i][0], factor, first);
      sum[i][1] = _mm512_dpbf16_ps(sum[i][1], factor, second);
    }
    left += kWordRows;
    right += kWordColumns;
  }
  const __m512 start[2] = {bias ? _mm512_loadu_ps(bias) : _mm512_setzero_ps(),
                           bias ? _mm512_loadu_ps(bias + kLanes) : _mm512_setzero_ps()};
#pragma GCC unroll 12
  for (int i = 0; i < kWordRows; ++i) {
    float* line = out + i * stride;
    _mm512_storeu_ps(line, _mm512_add_ps(sum[i][0], add ? _mm512_loadu_ps(line) : start[0]));
    _mm512_storeu_ps(line + kLanes,
                     _mm512_add_ps(sum[i][1], add ? _mm512_loadu_ps(line + kLanes) : start[1]));
  }
}

// A tile at an edge, over a whole one.
void multiply_words_at_edge(int64_t rows, int64_t columns, int64_t words, const uint32_t* left,
                            const uint32_t* right, const float* bias, bool add, float* out, int64_t stride) {
  alignas(64) std::array<float, kWordRows * kWordColumns> whole{};
  alignas(64) std::array<float, kWordColumns> start{};
  if (bias) std::copy_n(bias, columns, start.data());
  if (add) {
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(out + i * stride, columns, whole.data() + i * kWordColumns);
  }
  multiply_words(words, left, right, start.data(), add, whole.data(), kWordColumns, {});
  for (int64_t i = 0; i < rows; ++i) std::copy_n(whole.data() + i * kWordColumns, columns, out + i * stride);
}

void multiply_block(const WordBlock& block, const float* bias, bool add, float* out, int64_t stride,
                    const Ahead& first) {
  Ahead ahead = first;
  for (int64_t j = 0; j < block.columns; j += kWordColumns) {
    const int64_t columns = std::min<int64_t>(kWordColumns, block.columns - j);
    for (int64_t i = 0; i < block.rows; i += kWordRows) {
      const int64_t rows = std::min<int64_t>(kWordRows, block.rows - i);
      const uint32_t *left = block.left + i * block.words, *right = block.right + j * block.words;
      const float* start = bias ? bias + j : nullptr;
      float* corner = out + i * stride + j;
      if (rows == kWordRows && columns == kWordColumns) {
        multiply_words(block.words, left, right, start, add, corner, stride, ahead);
        ahead = ahead.behind(block.words);
      } else {
        multiply_words_at_edge(rows, columns, block.words, left, right, start, add, corner, stride);
      }
    }
  }
}

}  // namespace

const WordKernel& vector_kernel() {
  static constexpr WordKernel kKernel{.rows = kWordRows,
                                      .columns = kWordColumns,
                                      .step = 1,
                                      .block_words = 512,
                                      .block_rows = 16 * kWordRows,
                                      .packed_columns = kWordColumns,
                                      .pack_left = pack_matrix<kWordRows>,
                                      .pack_right = pack_matrix<kWordColumns>,
                                      .multiply = multiply_block};
  return kKernel;
}

}  // namespace hftrain::nn::cpu
#endif
