#include "hftrain/nn/cpu/bgemm.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "hftrain/nn/cpu/word_kernel.h"

namespace hftrain::nn::cpu {
namespace {

constexpr int64_t kSumRows = 768;        // of sums that wait to be rounded
constexpr int64_t kRightColumns = 1024;  // of a packed block of the right matrix

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

// Numbers k … of the sum and columns j … of a region, of the right matrix.
struct RightPart {
  int64_t k, numbers, words, j, columns;
};

void pack_right_part(const WordKernel& kernel, const AnyMatrix& right, const RightPart& part,
                     uint32_t* packed) {
  kernel.pack_right(right.data, right.wide,
                    {.first = part.k * right.row + part.j * right.column,
                     .across = right.column,
                     .along = right.row,
                     .count = part.columns,
                     .inner = part.numbers,
                     .words = part.words},
                    packed);
}

// Where rows of the right matrix lie far apart, no processor foresees the next ones.
Ahead ahead_of(const AnyMatrix& right, const RightPart& next) {
  if (right.column != 1 || next.columns <= 0) return {};
  const int64_t item = right.wide ? 4 : 2;
  return {static_cast<const char*>(right.data) + (next.k * right.row + next.j) * item, right.row * item,
          next.numbers};
}

// All of the sum for a region. The first rows are multiplied while the right matrix is packed.
void multiply_region(const WordKernel& kernel, const Region& region, int64_t inner, const AnyMatrix& left,
                     const AnyMatrix& right, const float* bias, bool add, float* out, int64_t stride,
                     WordMemory& memory) {
  const int64_t numbers = 2 * kernel.block_words, block_rows = std::min(kernel.block_rows, region.rows);
  const int64_t most = rounded_up(words_of(std::min(numbers, inner)), kernel.step);
  uint32_t* columns = memory.right.at_least(most * rounded_up(region.columns, kernel.columns) + kLanes);
  uint32_t* rows = memory.left.at_least(most * rounded_up(block_rows, kernel.rows) + kLanes);
  for (int64_t k = 0; k < inner; k += numbers) {
    const int64_t nk = std::min(numbers, inner - k), words = rounded_up(words_of(nk), kernel.step);
    for (int64_t i = 0; i < region.rows; i += kernel.block_rows) {
      const int64_t ni = std::min(kernel.block_rows, region.rows - i);
      kernel.pack_left(left.data, left.wide,
                       {.first = (region.i + i) * left.row + k * left.column,
                        .across = left.row,
                        .along = left.column,
                        .count = ni,
                        .inner = nk,
                        .words = words},
                       rows);
      for (int64_t j = 0; j < region.columns; j += kernel.packed_columns) {
        const auto part = [&](int64_t first) {
          return RightPart{k, nk, words, region.j + first,
                           std::min(kernel.packed_columns, region.columns - first)};
        };
        uint32_t* panel = columns + j * words;
        if (i == 0) pack_right_part(kernel, right, part(j), panel);
        kernel.multiply({ni, part(j).columns, words, rows, panel}, bias ? bias + j : nullptr, add || k > 0,
                        out + i * stride + j, stride,
                        i == 0 ? ahead_of(right, part(j + kernel.packed_columns)) : Ahead{});
      }
    }
  }
}

}  // namespace

bool has_bgemm() {
  static const bool has = has_sgemm() && __builtin_cpu_supports("avx512bf16");
  return has;
}

bool has_bgemm(BfloatUnit unit) {
  return has_bgemm() && (unit == BfloatUnit::kVectors || has_tiles());
}

bool prefers_bgemm() {
  static const bool prefers = has_bgemm() && (has_tiles() || __builtin_cpu_is("amd"));
  return prefers;
}

void bgemm(const ProductSize& size, const AnyMatrix& left, const AnyMatrix& right, const float* bias,
           bool add, const AnyOutput& out, std::optional<BfloatUnit> unit) {
  thread_local WordMemory memory;
  const bool tiles = unit ? *unit == BfloatUnit::kTiles : has_tiles();
  const WordKernel& kernel = tiles ? tile_kernel() : vector_kernel();
  for (int64_t j = 0; j < size.columns; j += kRightColumns) {
    const int64_t nj = std::min(kRightColumns, size.columns - j);
    const float* start = bias ? bias + j : nullptr;
    for (int64_t i = 0; i < size.rows; i += kSumRows) {
      const Region region{i, std::min(kSumRows, size.rows - i), j, nj};
      if (out.wide) {
        multiply_region(kernel, region, size.inner, left, right, start, add,
                        static_cast<float*>(out.data) + i * out.stride + j, out.stride, memory);
        continue;
      }
      const int64_t stride =
          rounded_up(nj, kLanes) + kLanes;  // no power of two: rows would meet in one set of a cache
      float* sums = memory.sums.at_least(region.rows * stride);
      multiply_region(kernel, region, size.inner, left, right, nullptr, false, sums, stride, memory);
      for (int64_t row = 0; row < region.rows; ++row) {
        round_row(sums + row * stride, start, add, nj,
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

bool has_bgemm(BfloatUnit) {
  return false;
}

bool prefers_bgemm() {
  return false;
}

void bgemm(const ProductSize&, const AnyMatrix&, const AnyMatrix&, const float*, bool, const AnyOutput&,
           std::optional<BfloatUnit>) {}

}  // namespace hftrain::nn::cpu
#endif
