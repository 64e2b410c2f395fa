#include "hftrain/nn/cpu/dropout_kernel.h"

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {

HFTRAIN_VECTORISED void masked_scale(const float* x, const uint8_t* kept, float scale, float* out,
                                     int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * (kept[i] != 0 ? scale : 0.0f);
}

HFTRAIN_VECTORISED void masked_scale_add(const float* residual, const float* x, const uint8_t* kept,
                                         float scale, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = residual[i] + x[i] * (kept[i] != 0 ? scale : 0.0f);
}

}  // namespace hftrain::nn::cpu
