#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "hftrain/nn/cpu/word_kernel.h"

namespace hftrain::nn::cpu {
namespace {

#define HFTRAIN_AMX \
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16,fma,amx-tile,amx-bf16")))

constexpr int kTileSide = 16;  // rows, and words of a row
constexpr int kSide = 2 * kTileSide;
constexpr int64_t kTileWords = kTileSide * kTileSide;
constexpr int64_t kLineBytes = kTileSide * sizeof(uint32_t);

// Palette 1, as LDTILECFG reads it.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0;
  std::array<uint8_t, 14> reserved{};
  std::array<uint16_t, 16> bytes_of_row{};
  std::array<uint8_t, 16> rows{};
};

constexpr TileConfiguration whole_tiles() {
  TileConfiguration result;
  for (size_t tile = 0; tile < 8; ++tile)
    result.bytes_of_row[tile] = kLineBytes, result.rows[tile] = kTileSide;
  return result;
}

// Numbers of 16 lines that lie within one tile: `count` lines, `numbers` of each.
template <typename Number>
struct TileLines {
  const Number* source;
  int64_t across, along, count, numbers;
};

// packed[word·16 + line], as the right matrix's tiles are.
template <typename Number>
HFTRAIN_AVX512_BF16 void pack_right_tile(const TileLines<Number>& lines, uint32_t* packed) {
  const int64_t used = words_of(lines.numbers) * kTileSide;
  if (lines.along == 1) {
    pack_words_along<kTileSide>(lines.source, lines.across, lines.count, lines.numbers, packed);
  } else {
    pack_words_across<kTileSide>(lines.source, lines.along, lines.count, lines.numbers, packed);
  }
  std::fill_n(packed + used, kTileWords - used, 0);
}

// packed[line·16 + word], as the left matrix's are.
template <typename Number>
HFTRAIN_AVX512_BF16 void pack_left_tile(const TileLines<Number>& lines, uint32_t* packed) {
  if (lines.along == 1) {
    for (int64_t i = 0; i < kTileSide; ++i) {
      const bool used = i < lines.count;
      _mm512_store_si512(
          packed + i * kTileSide,
          used ? words_along(lines.source + i * lines.across, lines.numbers) : _mm512_setzero_si512());
    }
    return;
  }
  pack_right_tile(lines, packed);
  __m512 r[kLanes];
  for (int i = 0; i < kLanes; ++i) r[i] = _mm512_load_ps(packed + i * kTileSide);
  transpose(r);
  for (int i = 0; i < kLanes; ++i) _mm512_store_ps(packed + i * kTileSide, r[i]);
}

// Panels of 32 lines: for each 16 words the tile of the first 16 lines, then that of the others.
template <void (*pack_tile)(const TileLines<float>&, uint32_t*),
          void (*pack_narrow_tile)(const TileLines<uint16_t>&, uint32_t*)>
void pack_tiles(const void* data, bool wide, const PackedLines& lines, uint32_t* packed) {
  for (int64_t panel = 0; panel < lines.count; panel += kSide) {
    for (int64_t word = 0; word < lines.words; word += kTileSide) {
      const int64_t numbers = std::min<int64_t>(2 * kTileSide, lines.inner - 2 * word);
      for (int64_t first = panel; first < panel + kSide; first += kTileSide, packed += kTileWords) {
        const int64_t count = std::clamp<int64_t>(lines.count - first, 0, kTileSide);
        const int64_t at = lines.first + first * lines.across + 2 * word * lines.along;
        if (count == 0) {
          std::fill_n(packed, kTileWords, 0);
        } else if (wide) {
          pack_tile({static_cast<const float*>(data) + at, lines.across, lines.along, count, numbers},
                    packed);
        } else {
          pack_narrow_tile(
              {static_cast<const uint16_t*>(data) + at, lines.across, lines.along, count, numbers}, packed);
        }
      }
    }
  }
}

// Tiles 0 to 3 hold the sums of 32 × 32 numbers, 4 and 5 the left matrix's, 6 and 7 the right one's. `start`: what sums begin with,
// rows of `start_stride` numbers; zeros where there is none.
HFTRAIN_AMX void multiply_square(int64_t words, const uint32_t* left, const uint32_t* right,
                                 const float* start, int64_t start_stride, float* out, int64_t stride) {
  const auto bytes = static_cast<int64_t>(sizeof(float));
  if (start) {
    const float* below = start + kTileSide * start_stride;
    _tile_loadd(0, start, start_stride * bytes);
    _tile_loadd(1, start + kTileSide, start_stride * bytes);
    _tile_loadd(2, below, start_stride * bytes);
    _tile_loadd(3, below + kTileSide, start_stride * bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t word = 0; word < words; word += kTileSide) {
    _tile_loadd(4, left, kLineBytes);
    _tile_loadd(6, right, kLineBytes);
    _tile_loadd(7, right + kTileWords, kLineBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, left + kTileWords, kLineBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    left += 2 * kTileWords;
    right += 2 * kTileWords;
  }
  float* below = out + kTileSide * stride;
  _tile_stored(0, out, stride * bytes);
  _tile_stored(1, out + kTileSide, stride * bytes);
  _tile_stored(2, below, stride * bytes);
  _tile_stored(3, below + kTileSide, stride * bytes);
}

// One at an edge, over a whole one.
void multiply_square_at_edge(int64_t rows, int64_t columns, int64_t words, const uint32_t* left,
                             const uint32_t* right, const float* bias, bool add, float* out, int64_t stride) {
  alignas(64) std::array<float, kSide * kSide> whole{};
  for (int64_t i = 0; i < rows; ++i) {
    float* line = whole.data() + i * kSide;
    if (add) std::copy_n(out + i * stride, columns, line);
    if (!add && bias) std::copy_n(bias, columns, line);
  }
  multiply_square(words, left, right, whole.data(), kSide, whole.data(), kSide);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(whole.data() + i * kSide, columns, out + i * stride);
}

// The panel of the right matrix stays in the first cache while those of the left one pass.
HFTRAIN_AMX void multiply_tiles(const WordBlock& block, const float* bias, bool add, float* out,
                                int64_t stride, const Ahead&) {
  static constexpr TileConfiguration kTiles = whole_tiles();
  _tile_loadconfig(&kTiles);
  for (int64_t j = 0; j < block.columns; j += kSide) {
    const int64_t columns = std::min<int64_t>(kSide, block.columns - j);
    for (int64_t i = 0; i < block.rows; i += kSide) {
      const int64_t rows = std::min<int64_t>(kSide, block.rows - i);
      const uint32_t *left = block.left + i * block.words, *right = block.right + j * block.words;
      const float* begin = bias ? bias + j : nullptr;
      float* corner = out + i * stride + j;
      if (rows < kSide || columns < kSide) {
        multiply_square_at_edge(rows, columns, block.words, left, right, begin, add, corner, stride);
      } else if (add) {
        multiply_square(block.words, left, right, corner, stride, corner, stride);
      } else {
        multiply_square(block.words, left, right, begin, 0, corner, stride);
      }
    }
  }
  _tile_release();  // or each change of threads saves 8 KiB
}

bool processor_has_tiles() {
  constexpr unsigned kBfloat16 = 1U << 22U, kTile = 1U << 24U;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBfloat16) && (d & kTile);
}

// Linux gives a process the registers when it asks for them.
bool may_use_tiles() {
  constexpr long kRequestState = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
}

}  // namespace

bool has_tiles() {
  static const bool has = processor_has_tiles() && may_use_tiles();
  return has;
}

const WordKernel& tile_kernel() {
  static constexpr WordKernel kKernel{
      .rows = kSide,
      .columns = kSide,
      .step = kTileSide,
      .block_words = 256,
      .block_rows = 4 * kSide,
      .packed_columns = kAllColumns,
      .pack_left = pack_tiles<pack_left_tile<float>, pack_left_tile<uint16_t>>,
      .pack_right = pack_tiles<pack_right_tile<float>, pack_right_tile<uint16_t>>,
      .multiply = multiply_tiles};
  return kKernel;
}

}  // namespace hftrain::nn::cpu
#endif
