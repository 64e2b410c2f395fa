// RMSNorm of rows of contiguous floats.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

// out = x·rstd·weight for `rows` rows of `width`; rstd[row] = 1/sqrt(mean x² + eps) is kept for the backward.
void rms_norm(const float* x, const float* weight, float* out, float* rstd, int64_t rows, int64_t width,
              float eps);

// With h = x·rstd and g = grad·weight: grad_x = rstd·(g − h·mean(g·h)); grad_weight += Σ_rows grad·h.
void rms_norm_backward(const float* grad, const float* x, const float* weight, const float* rstd,
                       float* grad_x, float* grad_weight, int64_t rows, int64_t width);

}  // namespace hftrain::nn::cpu
