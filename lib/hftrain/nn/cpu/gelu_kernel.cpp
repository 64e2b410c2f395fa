#include "hftrain/nn/cpu/gelu_kernel.h"

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {
namespace {

constexpr float kTwiceRoot = 1.5957691216057308f;  // 2·sqrt(2/π)
constexpr float kCubic = 0.044715f;
constexpr float kInverseRootTwo = 0.70710678118654752f;  // 1/sqrt(2)
constexpr float kDensity = 0.39894228040143268f;         // 1/sqrt(2π)

// The share of a normal distribution below x.
HFTRAIN_INLINE float share_below(float x) {
  const float z = (x < 0 ? -x : x) * kInverseRootTwo;
  const float t = 1.0f / (1.0f + 0.5f * z);
  float p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  const float tail = 0.5f * t * fast_exp(p - z * z);
  return x < 0 ? tail : 1.0f - tail;
}

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

HFTRAIN_VECTORISED void gelu(const float* x, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * share_below(x[i]);
}

HFTRAIN_VECTORISED void gelu_backward(const float* grad, const float* x, float* grad_x, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float density = kDensity * fast_exp(-0.5f * x[i] * x[i]);
    grad_x[i] = grad[i] * (share_below(x[i]) + x[i] * density);
  }
}

}  // namespace hftrain::nn::cpu
