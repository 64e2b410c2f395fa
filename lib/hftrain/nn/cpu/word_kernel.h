// How bgemm multiplies what it has packed. Only for x86 with GCC's intrinsics.
#pragma once

#include <cstdint>

#include "hftrain/nn/cpu/word_packing.h"

namespace hftrain::nn::cpu {

// Packed panels of `rows` × `columns` numbers of the output, with `words` along the sum.
struct WordBlock {
  int64_t rows, columns, words;
  const uint32_t *left, *right;
};

constexpr int64_t kAllColumns = int64_t{1} << 40;

struct WordKernel {
  int64_t rows, columns;  // of a tile, to which panels are filled up
  int64_t step;           // words along the sum that are multiplied at once, to which lines are filled up
  int64_t block_words;    // at most, of a block
  int64_t block_rows;     // of a packed block of the left matrix
  int64_t
      packed_columns;  // of the right matrix that are packed, then multiplied, before the next: whole tiles
  void (*pack_left)(const void* data, bool wide, const PackedLines& lines, uint32_t* packed);
  void (*pack_right)(const void* data, bool wide, const PackedLines& lines, uint32_t* packed);
  // out[i·stride + j] = the sum of the block + (bias ? bias[j] : 0), or added to what is there.
  void (*multiply)(const WordBlock& block, const float* bias, bool add, float* out, int64_t stride,
                   const Ahead& ahead);
};

// By vectors (vdpbf16ps), where the processor has AVX512-BF16.
const WordKernel& vector_kernel();

// By tiles (tdpbf16ps), where the processor has AMX and the system lets this process use it; asked for once.
bool has_tiles();
const WordKernel& tile_kernel();

}  // namespace hftrain::nn::cpu
