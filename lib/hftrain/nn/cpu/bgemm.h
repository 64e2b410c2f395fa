// Products of matrices rounded to bfloat16, with sums in float32, for processors with AVX512-BF16. A matrix may lie in memory as
// float32: it is rounded on the way into the processor, so that nobody keeps a second copy of weights and no gradient of them
// is rounded on its way out.
//
// It goes by blocks as sgemm.h does; a word holds two numbers that follow each other along the sum. They are multiplied by vectors, or
// by the tiles of AMX, which are several times as fast (word_kernel.h).
#pragma once

#include <cstdint>
#include <optional>

#include "hftrain/nn/cpu/sgemm.h"

namespace hftrain::nn::cpu {

// Row-major; element (i, j) lies at data[i·row + j·column], as float32 (`wide`) or bfloat16. One of the two strides is 1.
struct AnyMatrix {
  const void* data = nullptr;
  bool wide = false;
  int64_t row = 0;
  int64_t column = 1;
};

// Rows of `stride` numbers, float32 or bfloat16.
struct AnyOutput {
  void* data = nullptr;
  bool wide = false;
  int64_t stride = 0;
};

enum class BfloatUnit { kVectors, kTiles };

// Whether this processor has what bgemm needs, with any or with that unit; whether it is one for which LibTorch has nothing quicker:
// AMD's, and those with AMX, where oneDNN copies and reorders a float32 matrix for each product.
bool has_bgemm();
bool has_bgemm(BfloatUnit unit);
bool prefers_bgemm();

// out[i, j] = Σ_k left(i, k)·right(k, j) + (bias ? bias[j] : 0), or added to what is in `out` with `add`; rounded once, at the
// end. The order of a sum depends on the sizes and the unit alone, not on threads. One thread; only where has_bgemm(). `unit`: the
// quickest that there is, unless a test asks for another, which has to ask has_bgemm(unit) before: tiles are the process's from
// then on, and an illegal instruction until then.
void bgemm(const ProductSize& size, const AnyMatrix& left, const AnyMatrix& right, const float* bias,
           bool add, const AnyOutput& out, std::optional<BfloatUnit> unit = std::nullopt);

}  // namespace hftrain::nn::cpu
