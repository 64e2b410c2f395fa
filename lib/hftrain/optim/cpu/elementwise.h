// Loops over contiguous floats that optimizers are made of, vectorised by the compiler.
//
// The results of an element do not depend on where in an array it stands: the file is compiled without
// contraction of products and sums, so that the vector body and the scalar end of a loop round alike.
// (LibTorch's fused kernels do not: an element that falls into the tail of a slice gets another last bit.
// AdamW here rounds as the middle of a slice does there, fused multiply-adds included.)
#pragma once

#include <cstdint>

namespace hftrain::optim::cpu {

// In float64.
double sum_of_squares(const float* x, int64_t n);

// One step of AdamW; see adamw.h for the formula.
struct AdamWStep {
  float factor = 1;            // of the gradients
  float decay = 1;             // 1 - rate·weight_decay
  float rest1 = 1;             // 1 - beta1
  float beta2 = 0, rest2 = 1;  // rest2 = 1 - beta2
  float step_size = 0;         // rate/(1 - beta1^t)
  float root_scale = 1;        // sqrt(1 - beta2^t)
  float epsilon = 0;
};
void adamw(const AdamWStep& step, float* parameter, const float* gradient, float* first, float* second,
           int64_t n);

}  // namespace hftrain::optim::cpu
