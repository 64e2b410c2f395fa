#include "hftrain/nn/cpu/gelu_kernel.h"

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {
namespace {

constexpr float kTwiceRoot = 1.5957691216057308f;  // 2·sqrt(2/π)
constexpr float kCubic = 0.044715f;

}  // namespace

HFTRAIN_VECTORISED void gelu_tanh(const float* x, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    out[i] = x[i] * sigmoid(kTwiceRoot * (x[i] + kCubic * x[i] * x[i] * x[i]));
  }
}

HFTRAIN_VECTORISED void gelu_tanh_backward(const float* grad, const float* x, float* grad_x, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float square = x[i] * x[i];
    const float s = sigmoid(kTwiceRoot * (x[i] + kCubic * square * x[i]));
    grad_x[i] = grad[i] * (s + x[i] * s * (1.0f - s) * kTwiceRoot * (1.0f + 3.0f * kCubic * square));
  }
}

}  // namespace hftrain::nn::cpu
