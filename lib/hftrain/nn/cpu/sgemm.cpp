#include "hftrain/nn/cpu/sgemm.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "hftrain/nn/cpu/packing.h"

namespace hftrain::nn::cpu {
namespace {

constexpr int kTileRows = 12, kTileColumns = 32;
constexpr int64_t kInner = 512;     // of a block; a panel of the left matrix then has 24 KiB
constexpr int64_t kRows = 16 * 12;  // of a block of the left matrix: 384 KiB
constexpr int64_t kColumns = 2048;  // of a block of the right one: 4 MiB

// `count` lines of `inner` numbers, one `stride` from the next, become packed[k·width + line]; lines up to `width` are zeros.
// Writes up to 16 numbers beyond the last.
template <int width>
HFTRAIN_AVX512 void pack_lines(const float* source, int64_t stride, int64_t count, int64_t inner,
                               float* packed) {
  for (int64_t first = 0; first < width; first += kLanes) {
    const int64_t lines = std::clamp<int64_t>(count - first, 0, kLanes);
    for (int64_t k = 0; k < inner; k += kLanes) {
      const int64_t numbers = std::min<int64_t>(kLanes, inner - k);
      const auto mask = static_cast<__mmask16>((1U << numbers) - 1U);
      __m512 r[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        r[i] =
            i < lines ? _mm512_maskz_loadu_ps(mask, source + (first + i) * stride + k) : _mm512_setzero_ps();
      }
      transpose(r);
      for (int64_t i = 0; i < numbers; ++i) _mm512_storeu_ps(packed + (k + i) * width + first, r[i]);
    }
  }
}

// The same of lines that lie across: number k of all of them side by side.
template <int width>
HFTRAIN_AVX512 void pack_across(const float* source, int64_t stride, int64_t count, int64_t inner,
                                float* packed) {
  for (int64_t first = 0; first < width; first += kLanes) {
    const int64_t lines = std::clamp<int64_t>(count - first, 0, std::min<int64_t>(kLanes, width - first));
    const auto mask = static_cast<__mmask16>((1U << lines) - 1U);
    for (int64_t k = 0; k < inner; ++k)
      _mm512_storeu_ps(packed + k * width + first, _mm512_maskz_loadu_ps(mask, source + k * stride + first));
  }
}

// A tile of 12 × 32: left[k·12 + i], right[k·32 + j].
HFTRAIN_AVX512 void multiply_tile(int64_t inner, const float* left, const float* right, const float* bias,
                                  bool add, float* out, int64_t stride, const Ahead& ahead) {
  __m512 sum[kTileRows][2];
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
  const char* next = ahead.at;
  for (int64_t k = 0; k < inner; ++k) {
    ask_ahead(ahead, k, next);
    const __m512 first = _mm512_load_ps(right), second = _mm512_load_ps(right + kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      const __m512 factor = _mm512_set1_ps(left[i]);
      sum[i][0] = _mm512_fmadd_ps(factor, first, sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(factor, second, sum[i][1]);
    }
    left += kTileRows;
    right += kTileColumns;
  }
  const __m512 start[2] = {bias ? _mm512_loadu_ps(bias) : _mm512_setzero_ps(),
                           bias ? _mm512_loadu_ps(bias + kLanes) : _mm512_setzero_ps()};
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) {
    float* line = out + i * stride;
    _mm512_storeu_ps(line, _mm512_add_ps(sum[i][0], add ? _mm512_loadu_ps(line) : start[0]));
    _mm512_storeu_ps(line + kLanes,
                     _mm512_add_ps(sum[i][1], add ? _mm512_loadu_ps(line + kLanes) : start[1]));
  }
}

struct Tile {
  int64_t rows, columns;  // that count
};

// Packed panels: `rows` of the left matrix, the numbers `columns` of one panel of the right one.
struct Panel {
  int64_t rows, columns, inner;
  const float *left, *right;
};

// A tile at an edge, over a whole one.
void multiply_edge(const Tile& tile, int64_t inner, const float* left, const float* right, const float* bias,
                   bool add, float* out, int64_t stride) {
  alignas(64) std::array<float, kTileRows * kTileColumns> whole{};
  alignas(64) std::array<float, kTileColumns> start{};
  if (bias) std::copy_n(bias, tile.columns, start.data());
  if (add) {
    for (int64_t i = 0; i < tile.rows; ++i)
      std::copy_n(out + i * stride, tile.columns, whole.data() + i * kTileColumns);
  }
  multiply_tile(inner, left, right, start.data(), add, whole.data(), kTileColumns, {});
  for (int64_t i = 0; i < tile.rows; ++i)
    std::copy_n(whole.data() + i * kTileColumns, tile.columns, out + i * stride);
}

template <int width>
void pack_panels(const float* data, int64_t across, int64_t along, int64_t count, int64_t inner,
                 float* packed) {
  for (int64_t first = 0; first < count; first += width) {
    const int64_t lines = std::min<int64_t>(width, count - first);
    if (along == 1) {
      pack_lines<width>(data + first * across, across, lines, inner, packed);
    } else {
      pack_across<width>(data + first * across, along, lines, inner, packed);
    }
    packed += width * inner;
  }
}

void multiply_panel(const Panel& panel, const float* bias, bool add, float* out, int64_t stride,
                    const Ahead& first) {
  Ahead ahead = first;
  for (int64_t i = 0; i < panel.rows; i += kTileRows) {
    const Tile tile{std::min<int64_t>(kTileRows, panel.rows - i), panel.columns};
    const float* left = panel.left + i * panel.inner;
    if (tile.rows == kTileRows && tile.columns == kTileColumns) {
      multiply_tile(panel.inner, left, panel.right, bias, add, out + i * stride, stride, ahead);
      ahead = ahead.behind(panel.inner);
    } else {
      multiply_edge(tile, panel.inner, left, panel.right, bias, add, out + i * stride, stride);
    }
  }
}

// Columns `j` … of what begins at `start`.
void pack_right_panel(const MatrixView& right, const float* start, int64_t j, const Panel& panel,
                      float* packed) {
  pack_panels<kTileColumns>(start + j * right.column, right.column, right.row, panel.columns, panel.inner,
                            packed);
}

// What is packed after the panel at column `j` of `columns`.
Ahead panel_behind(const MatrixView& right, const float* start, int64_t j, int64_t columns, int64_t inner) {
  if (right.column != 1 || j + kTileColumns >= columns) return {};
  return {reinterpret_cast<const char*>(start + j + kTileColumns), right.row * 4, inner};
}

}  // namespace

bool has_sgemm() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  return has;
}

bool prefers_sgemm() {
  static const bool prefers = has_sgemm() && __builtin_cpu_is("amd");
  return prefers;
}

void sgemm(const ProductSize& size, const MatrixView& left, const MatrixView& right, const float* bias,
           bool add, float* out, int64_t stride) {
  const int64_t most_inner = std::min(kInner, size.inner);
  const int64_t most_columns = rounded_up(std::min(kColumns, size.columns), kTileColumns);
  const int64_t most_rows = rounded_up(std::min(kRows, size.rows), kTileRows);
  thread_local Panels<float> right_panels, left_panels;
  float* columns = right_panels.at_least(most_inner * most_columns + kLanes);
  float* rows = left_panels.at_least(most_inner * most_rows + kLanes);
  for (int64_t j0 = 0; j0 < size.columns; j0 += kColumns) {
    const int64_t nj = std::min(kColumns, size.columns - j0);
    for (int64_t k0 = 0; k0 < size.inner; k0 += kInner) {
      const int64_t nk = std::min(kInner, size.inner - k0);
      const float* start = right.data + k0 * right.row + j0 * right.column;
      for (int64_t i0 = 0; i0 < size.rows; i0 += kRows) {
        const int64_t ni = std::min(kRows, size.rows - i0);
        pack_panels<kTileRows>(left.data + i0 * left.row + k0 * left.column, left.row, left.column, ni, nk,
                               rows);
        for (int64_t j = 0; j < nj; j += kTileColumns) {
          const Panel panel{ni, std::min<int64_t>(kTileColumns, nj - j), nk, rows, columns + j * nk};
          if (i0 == 0) pack_right_panel(right, start, j, panel, columns + j * nk);
          multiply_panel(panel, bias ? bias + j0 + j : nullptr, add || k0 > 0, out + i0 * stride + j0 + j,
                         stride, i0 == 0 ? panel_behind(right, start, j, nj, nk) : Ahead{});
        }
      }
    }
  }
}

}  // namespace hftrain::nn::cpu

#else

namespace hftrain::nn::cpu {

bool has_sgemm() {
  return false;
}

bool prefers_sgemm() {
  return false;
}

void sgemm(const ProductSize&, const MatrixView&, const MatrixView&, const float*, bool, float*, int64_t) {}

}  // namespace hftrain::nn::cpu
#endif
