// gelu over contiguous floats. The tanh form is x·σ(2u) with u = sqrt(2/π)·(x + 0.044715·x³), which equals
// x/2·(1 + tanh u). The exact one is x·Φ(x) with Φ by the approximation of erfc of W. Press et al., "Numerical Recipes" (6.2),
// whose relative error is below 1.2e-7 everywhere, so that far negative x keep their digits.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

void gelu_tanh(const float* x, float* out, int64_t n);
void gelu_tanh_backward(const float* grad, const float* x, float* grad_x, int64_t n);

void gelu(const float* x, float* out, int64_t n);
void gelu_backward(const float* grad, const float* x, float* grad_x, int64_t n);

}  // namespace hftrain::nn::cpu
