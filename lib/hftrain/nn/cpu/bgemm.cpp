#include "hftrain/nn/cpu/bgemm.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "hftrain/nn/cpu/packing.h"

namespace hftrain::nn::cpu {
namespace {

#define HFTRAIN_AVX512_BF16 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16,fma")))
#define HFTRAIN_AVX512_BF16_INLINE \
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16,fma"), always_inline)) inline

constexpr int kWordRows = 12, kWordColumns = 32;  // of a tile
constexpr int64_t kWords = 512;                   // along the sum, of a block
constexpr int64_t kLeftRows = 16 * 12;            // of a packed block of the left matrix
constexpr int64_t kSumRows = 4 * kLeftRows;       // of sums that wait to be rounded
constexpr int64_t kRightColumns = 1024;           // of a packed block of the right matrix

int64_t words_of(int64_t numbers) {
  return (numbers + 1) / 2;
}

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
void pack_words(const Number* data, int64_t across, int64_t along, int64_t count, int64_t inner,
                uint32_t* packed) {
  for (int64_t first = 0; first < count; first += width) {
    const int64_t lines = std::min<int64_t>(width, count - first);
    if (along == 1) {
      pack_words_along<width>(data + first * across, across, lines, inner, packed);
    } else {
      pack_words_across<width>(data + first * across, along, lines, inner, packed);
    }
    packed += width * words_of(inner);
  }
}

// Element (at_across, at_along) is the first.
template <int width>
void pack_matrix(const void* data, bool wide, int64_t first, int64_t across, int64_t along, int64_t count,
                 int64_t inner, uint32_t* packed) {
  if (wide) {
    pack_words<width>(static_cast<const float*>(data) + first, across, along, count, inner, packed);
  } else {
    pack_words<width>(static_cast<const uint16_t*>(data) + first, across, along, count, inner, packed);
  }
}

// A tile of 12 × 32: left[word·12 + i], right[word·32 + j].
HFTRAIN_AVX512_BF16 void multiply_words(int64_t words, const uint32_t* left, const uint32_t* right,
                                        const float* bias, bool add, float* out, int64_t stride) {
  __m512 sum[kWordRows][2];
#pragma GCC unroll 12
  for (int i = 0; i < kWordRows; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
  for (int64_t word = 0; word < words; ++word) {
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
  multiply_words(words, left, right, start.data(), add, whole.data(), kWordColumns);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(whole.data() + i * kWordColumns, columns, out + i * stride);
}

// Packed panels of `rows` × `columns` numbers of the output.
struct WordBlock {
  int64_t rows, columns, words;
  const uint32_t *left, *right;
};

void multiply_block(const WordBlock& block, const float* bias, bool add, float* out, int64_t stride) {
  for (int64_t j = 0; j < block.columns; j += kWordColumns) {
    const int64_t columns = std::min<int64_t>(kWordColumns, block.columns - j);
    for (int64_t i = 0; i < block.rows; i += kWordRows) {
      const int64_t rows = std::min<int64_t>(kWordRows, block.rows - i);
      const uint32_t *left = block.left + i * block.words, *right = block.right + j * block.words;
      const float* start = bias ? bias + j : nullptr;
      float* corner = out + i * stride + j;
      if (rows == kWordRows && columns == kWordColumns) {
        multiply_words(block.words, left, right, start, add, corner, stride);
      } else {
        multiply_words_at_edge(rows, columns, block.words, left, right, start, add, corner, stride);
      }
    }
  }
}

// out = bfloat16 of sums + (bias or what is there).
HFTRAIN_AVX512_BF16 void round_row(const float* sums, const float* bias, bool add, int64_t count,
                                   uint16_t* out) {
  for (int64_t j = 0; j < count; j += kLanes) {
    const int64_t numbers = std::min<int64_t>(kLanes, count - j);
    const auto mask = static_cast<__mmask16>((1U << numbers) - 1U);
    __m512 sum = _mm512_maskz_loadu_ps(mask, sums + j);
    if (bias) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, bias + j));
    if (add) {
      const __m512i words = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, out + j));
      sum = _mm512_add_ps(sum, _mm512_castsi512_ps(_mm512_slli_epi32(words, 16)));
    }
    _mm256_mask_storeu_epi16(out + j, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum)));
  }
}

struct WordMemory {
  Panels<uint32_t> left, right;
  Panels<float> sums;
};

// Rows `i` … and columns `j` … of the output.
struct Region {
  int64_t i, rows, j, columns;
};

// All of the sum for a region.
void multiply_region(const Region& region, int64_t inner, const AnyMatrix& left, const AnyMatrix& right,
                     const float* bias, bool add, float* out, int64_t stride, WordMemory& memory) {
  const int64_t most = words_of(std::min(2 * kWords, inner));
  uint32_t* columns = memory.right.at_least(most * rounded_up(region.columns, kWordColumns) + kLanes);
  uint32_t* rows =
      memory.left.at_least(most * rounded_up(std::min(kLeftRows, region.rows), kWordRows) + kLanes);
  for (int64_t k = 0; k < inner; k += 2 * kWords) {
    const int64_t nk = std::min(2 * kWords, inner - k);
    pack_matrix<kWordColumns>(right.data, right.wide, k * right.row + region.j * right.column, right.column,
                              right.row, region.columns, nk, columns);
    for (int64_t i = 0; i < region.rows; i += kLeftRows) {
      const int64_t ni = std::min(kLeftRows, region.rows - i);
      pack_matrix<kWordRows>(left.data, left.wide, (region.i + i) * left.row + k * left.column, left.row,
                             left.column, ni, nk, rows);
      multiply_block({ni, region.columns, words_of(nk), rows, columns}, bias, add || k > 0, out + i * stride,
                     stride);
    }
  }
}

}  // namespace

bool has_bgemm() {
  static const bool has = has_sgemm() && __builtin_cpu_supports("avx512bf16");
  return has;
}

bool prefers_bgemm() {
  static const bool prefers = has_bgemm() && __builtin_cpu_is("amd");
  return prefers;
}

void bgemm(const ProductSize& size, const AnyMatrix& left, const AnyMatrix& right, const float* bias,
           bool add, const AnyOutput& out) {
  thread_local WordMemory memory;
  for (int64_t j = 0; j < size.columns; j += kRightColumns) {
    const int64_t nj = std::min(kRightColumns, size.columns - j);
    const float* start = bias ? bias + j : nullptr;
    for (int64_t i = 0; i < size.rows; i += kSumRows) {
      const Region region{i, std::min(kSumRows, size.rows - i), j, nj};
      if (out.wide) {
        multiply_region(region, size.inner, left, right, start, add,
                        static_cast<float*>(out.data) + i * out.stride + j, out.stride, memory);
        continue;
      }
      float* sums = memory.sums.at_least(region.rows * nj);
      multiply_region(region, size.inner, left, right, nullptr, false, sums, nj, memory);
      for (int64_t row = 0; row < region.rows; ++row) {
        round_row(sums + row * nj, start, add, nj,
                  static_cast<uint16_t*>(out.data) + (i + row) * out.stride + j);
      }
    }
  }
}

}  // namespace hftrain::nn::cpu

#else

namespace hftrain::nn::cpu {

bool has_bgemm() {
  return false;
}

bool prefers_bgemm() {
  return false;
}

void bgemm(const ProductSize&, const AnyMatrix&, const AnyMatrix&, const float*, bool, const AnyOutput&) {}

}  // namespace hftrain::nn::cpu
#endif
