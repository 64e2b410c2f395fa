#include "hftrain/nn/cpu/swiglu_kernel.h"

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {

HFTRAIN_VECTORISED void swiglu(const float* gate, const float* up, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

HFTRAIN_VECTORISED void swiglu_backward(const float* grad, const float* gate, const float* up,
                                        float* grad_gate, float* grad_up, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float s = sigmoid(gate[i]);
    grad_up[i] = grad[i] * gate[i] * s;
    grad_gate[i] = grad[i] * up[i] * s * (1.0f + gate[i] * (1.0f - s));
  }
}

}  // namespace hftrain::nn::cpu
