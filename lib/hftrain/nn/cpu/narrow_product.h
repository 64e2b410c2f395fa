// Products of few rows with a large matrix, in float32 with AVX-512: what a step of writing text is made of. Such a product
// takes as long as reading the matrix does, so that it is read once, in its order, whichever way it lies, and never packed.
#pragma once

#include <cstdint>

#include "hftrain/nn/cpu/sgemm.h"

namespace hftrain::nn::cpu {

constexpr int64_t kNarrowRows = 32;  // with more there is enough to compute for other ways to be quicker

// Whether this processor has what narrow_product needs.
bool has_narrow_product();

// out[i·stride + j] = Σ_k left(i, k)·right(k, j) + (bias ? bias[j] : 0), or added to what is in `out` with `add`, for the
// columns [begin, end) of `right`, multiples of 16 or the last. `left` lies in rows; `right` either way. A row comes out the
// same to the bit whichever rows stand beside it and however columns are divided. One thread; only where
// has_narrow_product().
void narrow_product(const ProductSize& size, const MatrixView& left, const MatrixView& right,
                    const float* bias, bool add, float* out, int64_t stride, int64_t begin, int64_t end);

}  // namespace hftrain::nn::cpu
