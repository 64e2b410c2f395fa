// Products of float32 matrices for processors with AVX-512 on which MKL, which LibTorch multiplies with, does not use it: those
// of AMD. There this one is some 15 to 30 % quicker, and it transposes, adds a bias and adds to what is there on the way.
//
// The blocks are those of K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): tiles of 12 × 32
// in registers, panels of the left matrix in the second cache, of the right one in the third.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

// Row-major; element (i, j) lies at data[i·row + j·column]. One of the two strides is 1.
struct MatrixView {
  const float* data = nullptr;
  int64_t row = 0;
  int64_t column = 1;
};

struct ProductSize {
  int64_t rows, columns, inner;
};

// Whether this processor has what sgemm needs; whether it is one on which it is quicker than MKL.
bool has_sgemm();
bool prefers_sgemm();

// out[i·stride + j] = Σ_k left(i, k)·right(k, j) + (bias ? bias[j] : 0), or added to what is in `out` with `add`. The order of a
// sum depends on the sizes alone, not on threads. One thread; only where has_sgemm().
void sgemm(const ProductSize& size, const MatrixView& left, const MatrixView& right, const float* bias,
           bool add, float* out, int64_t stride);

}  // namespace hftrain::nn::cpu
