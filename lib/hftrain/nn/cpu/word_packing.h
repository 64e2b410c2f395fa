// How matrices are packed for products of bfloat16 numbers (bgemm.h): as words of two that follow each other along the sum, rounded
// on the way where they lie as float32. Only for x86 with GCC's intrinsics.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "hftrain/nn/cpu/packing.h"

#define HFTRAIN_AVX512_BF16 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16,fma")))
#define HFTRAIN_AVX512_BF16_INLINE \
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16,fma"), always_inline)) inline

namespace hftrain::nn::cpu {

inline int64_t words_of(int64_t numbers) {
  return (numbers + 1) / 2;
}

// `count` lines of `inner` numbers of a matrix, from its number `first` on: the next line `across` numbers further, the next number of a
// line `along`. A packed line has `words` words; those behind its numbers are zeros.
struct PackedLines {
  int64_t first, across, along, count, inner, words;
};

// Up to 32 numbers that follow each other, as words; zeros behind them.
HFTRAIN_AVX512_BF16_INLINE __m512i words_along(const uint16_t* source, int64_t count) {
  const auto mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
  return _mm512_maskz_loadu_epi16(mask, source);
}

HFTRAIN_AVX512_BF16_INLINE __m512i words_along(const float* source, int64_t count) {
  const auto mask = static_cast<uint32_t>((uint64_t{1} << count) - 1);
  const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), source);
  const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16U), source + kLanes);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

HFTRAIN_AVX512_BF16_INLINE __m512i beside(const uint16_t* first, const uint16_t* second, __mmask16 mask) {
  const __m256i low = _mm256_maskz_loadu_epi16(mask, first);
  const __m256i high = second ? _mm256_maskz_loadu_epi16(mask, second) : _mm256_setzero_si256();
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

HFTRAIN_AVX512_BF16_INLINE __m512i beside(const float* first, const float* second, __mmask16 mask) {
  const __m512 low = _mm512_maskz_loadu_ps(mask, first);
  const __m512 high = second ? _mm512_maskz_loadu_ps(mask, second) : _mm512_setzero_ps();
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// `count` lines of `inner` numbers, one `stride` from the next, become packed[word·width + line]; lines up to `width` are
// zeros. Writes up to 16 words beyond the last.
template <int width, typename Number>
HFTRAIN_AVX512_BF16 void pack_words_along(const Number* source, int64_t stride, int64_t count, int64_t inner,
                                          uint32_t* packed) {
  const int64_t words = words_of(inner);
  for (int64_t first = 0; first < width; first += kLanes) {
    const int64_t lines = std::clamp<int64_t>(count - first, 0, kLanes);
    for (int64_t word = 0; word < words; word += kLanes) {
      const int64_t numbers = std::min<int64_t>(2 * kLanes, inner - 2 * word);
      __m512 r[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        r[i] = i < lines ? _mm512_castsi512_ps(words_along(source + (first + i) * stride + 2 * word, numbers))
                         : _mm512_setzero_ps();
      }
      transpose(r);
      const int64_t here = std::min<int64_t>(kLanes, words - word);
      for (int64_t i = 0; i < here; ++i) _mm512_storeu_ps(packed + (word + i) * width + first, r[i]);
    }
  }
}

// The same of lines that lie across: number k of all of them side by side.
template <int width, typename Number>
HFTRAIN_AVX512_BF16 void pack_words_across(const Number* source, int64_t stride, int64_t count, int64_t inner,
                                           uint32_t* packed) {
  alignas(64) static constexpr std::array<uint16_t, 32> kPairs = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                                  21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                                  11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i pairs = _mm512_load_si512(kPairs.data());
  for (int64_t first = 0; first < width; first += kLanes) {
    const int64_t lines = std::clamp<int64_t>(count - first, 0, std::min<int64_t>(kLanes, width - first));
    const auto mask = static_cast<__mmask16>((1U << lines) - 1U);
    for (int64_t k = 0; k < inner; k += 2) {
      const Number* line = source + k * stride + first;
      const __m512i both = beside(line, k + 1 < inner ? line + stride : nullptr, mask);
      _mm512_storeu_si512(packed + k / 2 * width + first, _mm512_permutexvar_epi16(pairs, both));
    }
  }
}

template <int width, typename Number>
void pack_words(const Number* data, const PackedLines& lines, uint32_t* packed) {
  const int64_t used = words_of(lines.inner);
  for (int64_t first = 0; first < lines.count; first += width) {
    const int64_t count = std::min<int64_t>(width, lines.count - first);
    if (lines.along == 1) {
      pack_words_along<width>(data + first * lines.across, lines.across, count, lines.inner, packed);
    } else {
      pack_words_across<width>(data + first * lines.across, lines.along, count, lines.inner, packed);
    }
    std::fill_n(packed + used * width, (lines.words - used) * width, 0);
    packed += width * lines.words;
  }
}

// Panels of `width` lines each, of a matrix that lies as float32 (`wide`) or bfloat16.
template <int width>
void pack_matrix(const void* data, bool wide, const PackedLines& lines, uint32_t* packed) {
  if (wide) {
    pack_words<width>(static_cast<const float*>(data) + lines.first, lines, packed);
  } else {
    pack_words<width>(static_cast<const uint16_t*>(data) + lines.first, lines, packed);
  }
}

}  // namespace hftrain::nn::cpu
