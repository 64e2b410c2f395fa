// silu(gate)·up over contiguous floats.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

void swiglu(const float* gate, const float* up, float* out, int64_t n);

// d silu(g) = σ(g)·(1 + g·(1 − σ(g)))
void swiglu_backward(const float* grad, const float* gate, const float* up, float* grad_gate, float* grad_up,
                     int64_t n);

}  // namespace hftrain::nn::cpu
