#include "hftrain/nn/cpu/narrow_product.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#include <vector>

namespace hftrain::nn::cpu {
namespace {

#define HFTRAIN_NARROW __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))

#define HFTRAIN_NARROW_INLINE \
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"), always_inline)) inline

constexpr int64_t kWide = 16;  // numbers of a register
constexpr int kMostRows = 8;   // of the left matrix at a time
constexpr int kLines = 3;      // of the right one, where each is a column: 24 sums stay in registers
constexpr int kManyLines =
    8;  // for few rows, for which memory is slow: it likes to be read in many places at once
constexpr int kAcross = 8;            // of the right one, where each is a number of all columns
constexpr int kFewRows = 2;           // for which that is quickest; more of them have tiles
constexpr int64_t kTileColumns = 48;  // a tile's sums stay in registers, too
constexpr int64_t kTileNumbers =
    32;                    // of the inner dimension, for all tiles of a thread: they stay in the second cache
constexpr int kAhead = 2;  // groups of lines from one that is read to the one that memory is asked for
constexpr int64_t kSums = 16384;  // that stay in the cache while a stretch of columns is added up

struct Rows {
  const float* left;
  int64_t left_stride;
  float* out;
  int64_t out_stride;
};

HFTRAIN_NARROW __mmask16 first_of(int64_t count) {
  return static_cast<__mmask16>(count >= kWide ? 0xFFFFU : (1U << count) - 1U);
}

// Asks memory for what will be read in a while, into the second cache: more of it can be on its way at once than into the first. Where
// no memory is, nothing happens.
HFTRAIN_NARROW_INLINE void ask_for(const float* numbers) {
  _mm_prefetch(reinterpret_cast<const char*>(numbers), _MM_HINT_T1);
}

// 16 numbers of each row times those of each line, or as many as the mask has.
template <int rows, int lines>
HFTRAIN_NARROW_INLINE void add_numbers(const float* left, int64_t left_stride, const float* right,
                                       int64_t right_stride, __mmask16 mask, __m512 (&sum)[rows][lines]) {
  __m512 line[lines];
#pragma GCC unroll 8
  for (int j = 0; j < lines; ++j) line[j] = _mm512_maskz_loadu_ps(mask, right + j * right_stride);
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    const __m512 x = _mm512_maskz_loadu_ps(mask, left + i * left_stride);
#pragma GCC unroll 8
    for (int j = 0; j < lines; ++j) sum[i][j] = _mm512_fmadd_ps(x, line[j], sum[i][j]);
  }
}

// Columns of `right` that each lie in one stretch: out[i][j] for `lines` of them.
template <int rows, int lines>
HFTRAIN_NARROW void by_lines(const Rows& at, const float* right, int64_t right_stride, int64_t inner,
                             const float* bias, bool add) {
  __m512 sum[rows][lines];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < lines; ++j) sum[i][j] = _mm512_setzero_ps();
  }
  int64_t k = 0;
  for (; k + kWide <= inner; k += kWide) {
#pragma GCC unroll 8
    for (int j = 0; j < lines; ++j) ask_for(right + (kAhead * lines + j) * right_stride + k);
    add_numbers<rows, lines>(at.left + k, at.left_stride, right + k, right_stride, 0xFFFF, sum);
  }
  if (k < inner)
    add_numbers<rows, lines>(at.left + k, at.left_stride, right + k, right_stride, first_of(inner - k), sum);
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < lines; ++j) {
      float& out = at.out[i * at.out_stride + j];
      out = _mm512_reduce_add_ps(sum[i][j]) + (bias != nullptr ? bias[j] : 0.0F) + (add ? out : 0.0F);
    }
  }
}

template <int rows>
HFTRAIN_NARROW void all_lines(const Rows& at, const float* right, int64_t right_stride, int64_t inner,
                              const float* bias, bool add, int64_t lines) {
  if constexpr (rows <= kFewRows) {
    if (lines == kManyLines) return by_lines<rows, kManyLines>(at, right, right_stride, inner, bias, add);
  }
  switch (lines) {
    case 1:
      return by_lines<rows, 1>(at, right, right_stride, inner, bias, add);
    case 2:
      return by_lines<rows, 2>(at, right, right_stride, inner, bias, add);
    default:
      return by_lines<rows, 3>(at, right, right_stride, inner, bias, add);
  }
}

// Numbers k … k + count of the inner dimension, for some columns: added to out.
template <int rows, int count>
HFTRAIN_NARROW void add_across(const Rows& at, const float* right, int64_t right_stride, int64_t columns) {
  for (int64_t j = 0; j < columns; j += kWide) {
    const __mmask16 mask = first_of(columns - j);
    __m512 across[count];
#pragma GCC unroll 8
    for (int k = 0; k < count; ++k) {
      across[k] = _mm512_maskz_loadu_ps(mask, right + k * right_stride + j);
      ask_for(right + (kAhead * count + k) * right_stride + j);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      float* out = at.out + i * at.out_stride + j;
      __m512 sum = _mm512_maskz_loadu_ps(mask, out);
#pragma GCC unroll 8
      for (int k = 0; k < count; ++k)
        sum = _mm512_fmadd_ps(_mm512_set1_ps(at.left[i * at.left_stride + k]), across[k], sum);
      _mm512_mask_storeu_ps(out, mask, sum);
    }
  }
}

// Some numbers of the inner dimension for a tile of at most 48 columns: added to out. `left` holds `rows` numbers for each of
// them. What the next stretch of the inner dimension holds of these columns is asked of memory on the way, where there is one.
template <int rows, int wide>
HFTRAIN_NARROW void add_tile(const float* left, float* out, int64_t stride, const float* right,
                             int64_t right_stride, int64_t count, int64_t ahead, __mmask16 mask) {
  __m512 sum[rows][wide];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < wide; ++j)
      sum[i][j] = _mm512_maskz_loadu_ps(j + 1 < wide ? 0xFFFF : mask, out + i * stride + j * kWide);
  }
  for (int64_t k = 0; k < count; ++k, right += right_stride, left += rows) {
    __m512 across[wide];
#pragma GCC unroll 8
    for (int j = 0; j < wide; ++j) {
      across[j] = _mm512_maskz_loadu_ps(j + 1 < wide ? 0xFFFF : mask, right + j * kWide);
      ask_for(right + ahead + j * kWide);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const __m512 x = _mm512_set1_ps(left[i]);
#pragma GCC unroll 8
      for (int j = 0; j < wide; ++j) sum[i][j] = _mm512_fmadd_ps(x, across[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < wide; ++j)
      _mm512_mask_storeu_ps(out + i * stride + j * kWide, j + 1 < wide ? 0xFFFF : mask, sum[i][j]);
  }
}

template <int rows>
HFTRAIN_NARROW void add_tiles(const float* left, float* out, int64_t stride, const float* right,
                              int64_t right_stride, int64_t count, int64_t columns) {
  const int64_t ahead = count * right_stride;
  for (int64_t j = 0; j < columns; j += kTileColumns) {
    const int64_t width = std::min(kTileColumns, columns - j);
    if (width > 2 * kWide) {
      add_tile<rows, 3>(left, out + j, stride, right + j, right_stride, count, ahead,
                        first_of(width - 2 * kWide));
    } else if (width > kWide) {
      add_tile<rows, 2>(left, out + j, stride, right + j, right_stride, count, ahead,
                        first_of(width - kWide));
    } else {
      add_tile<rows, 1>(left, out + j, stride, right + j, right_stride, count, ahead, first_of(width));
    }
  }
}

// `use` for each 8 rows and for what is left, with their number as a constant.
template <int rows, typename Use>
void with_constant(int64_t count, const Use& use) {
  if constexpr (rows > 0) {
    if (count == rows) return use.template operator()<rows>();
    with_constant<rows - 1>(count, use);
  }
}

template <typename Use>
void for_groups(int64_t rows, const Use& use) {
  for (int64_t first = 0; first < rows; first += kMostRows) {
    with_constant<kMostRows>(std::min<int64_t>(kMostRows, rows - first),
                             [&]<int count>() { use.template operator()<count>(first); });
  }
}

// One stretch of columns, k by k: `right` is read once, in the order in which it lies.
void sum_across(const ProductSize& size, const MatrixView& left, const float* right, int64_t right_stride,
                float* out, int64_t stride, int64_t columns) {
  for (int64_t k = 0; k < size.inner;) {
    const bool several = k + kAcross <= size.inner;
    for_groups(size.rows, [&]<int count>(int64_t first) {
      const Rows at{left.data + first * left.row + k, left.row, out + first * stride, stride};
      if (several) {
        add_across<count, kAcross>(at, right + k * right_stride, right_stride, columns);
      } else {
        add_across<count, 1>(at, right + k * right_stride, right_stride, columns);
      }
    });
    k += several ? kAcross : 1;
  }
}

// Of each `count` rows their numbers beside each other.
void turn(const MatrixView& left, int64_t first, int64_t count, int64_t inner, float* turned) {
  for (int64_t i = 0; i < count; ++i) {
    const float* row = left.data + (first + i) * left.row;
    for (int64_t k = 0; k < inner; ++k) turned[k * count + i] = row[k];
  }
}

void sum_tiles(const ProductSize& size, const MatrixView& left, const float* right, int64_t right_stride,
               float* out, int64_t stride, int64_t columns) {
  std::vector<float> turned(static_cast<size_t>(size.rows * size.inner));
  for (int64_t first = 0; first < size.rows; first += kMostRows)
    turn(left, first, std::min<int64_t>(kMostRows, size.rows - first), size.inner,
         turned.data() + first * size.inner);
  for (int64_t k = 0; k < size.inner; k += kTileNumbers) {
    const int64_t numbers = std::min(kTileNumbers, size.inner - k);
    for_groups(size.rows, [&]<int count>(int64_t first) {
      add_tiles<count>(turned.data() + first * size.inner + k * count, out + first * stride, stride,
                       right + k * right_stride, right_stride, numbers, columns);
    });
  }
}

void begin_sums(const ProductSize& size, const float* bias, float* out, int64_t stride, int64_t begin,
                int64_t end) {
  for (int64_t i = 0; i < size.rows; ++i) {
    float* row = out + i * stride;
    for (int64_t j = begin; j < end; ++j) row[j] = bias != nullptr ? bias[j] : 0.0F;
  }
}

}  // namespace

bool has_narrow_product() {
  return has_sgemm();
}

void narrow_product(const ProductSize& size, const MatrixView& left, const MatrixView& right,
                    const float* bias, bool add, float* out, int64_t stride, int64_t begin, int64_t end) {
  if (right.column == 1) {
    if (!add) begin_sums(size, bias, out, stride, begin, end);
    if (size.rows > kFewRows) {
      sum_tiles(size, left, right.data + begin, right.row, out + begin, stride, end - begin);
      return;
    }
    const int64_t stretch = std::clamp<int64_t>(kSums / size.rows / kWide * kWide, 512, 4096);
    for (int64_t j = begin; j < end; j += stretch)
      sum_across(size, left, right.data + j, right.row, out + j, stride, std::min(stretch, end - j));
    return;
  }
  for (int64_t j = begin, lines = 0; j < end; j += lines) {
    lines = std::min<int64_t>(kLines, end - j);
    if (size.rows <= kFewRows && end - j >= kManyLines) lines = kManyLines;
    for_groups(size.rows, [&]<int count>(int64_t first) {
      const Rows at{left.data + first * left.row, left.row, out + first * stride + j, stride};
      all_lines<count>(at, right.data + j * right.column, right.column, size.inner,
                       bias != nullptr ? bias + j : nullptr, add, lines);
    });
  }
}

}  // namespace hftrain::nn::cpu

#else

namespace hftrain::nn::cpu {

bool has_narrow_product() {
  return false;
}

void narrow_product(const ProductSize&, const MatrixView&, const MatrixView&, const float*, bool, float*,
                    int64_t, int64_t, int64_t) {}

}  // namespace hftrain::nn::cpu

#endif
