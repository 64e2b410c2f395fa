#include "hftrain/nn/cpu/rms_norm_kernel.h"

#include <cmath>

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {

HFTRAIN_VECTORISED void rms_norm(const float* x, const float* weight, float* out, float* rstd, int64_t rows,
                                 int64_t width, float eps) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + eps);
    rstd[row] = scale;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) out[i] = x[i] * scale * weight[i];
  }
}

HFTRAIN_VECTORISED void rms_norm_backward(const float* grad, const float* x, const float* weight,
                                          const float* rstd, float* grad_x, float* grad_weight, int64_t rows,
                                          int64_t width) {
  for (int64_t row = 0; row < rows; ++row, x += width, grad += width, grad_x += width) {
    const float scale = rstd[row];
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < width; ++i) dot += grad[i] * weight[i] * x[i];
    const float along = dot * scale * scale / static_cast<float>(width);
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      grad_weight[i] += grad[i] * x[i] * scale;
      grad_x[i] = scale * (grad[i] * weight[i] - x[i] * along);
    }
  }
}

}  // namespace hftrain::nn::cpu
