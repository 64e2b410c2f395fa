// The tanh form of gelu over contiguous floats: x·σ(2u) with u = sqrt(2/π)·(x + 0.044715·x³), which equals
// x/2·(1 + tanh u).
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

void gelu_tanh(const float* x, float* out, int64_t n);
void gelu_tanh_backward(const float* grad, const float* x, float* grad_x, int64_t n);

}  // namespace hftrain::nn::cpu
