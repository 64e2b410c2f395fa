#include "hftrain/nn/cpu/rotary_kernel.h"

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {

HFTRAIN_VECTORISED void rotate_token(const float* x, float* out, const float* cos, const float* sin,
                                     float sign, int64_t heads, int64_t half) {
  for (int64_t head = 0; head < heads; ++head, x += 2 * half, out += 2 * half) {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const float s = sign * sin[i];
      out[i] = x[i] * cos[i] - x[i + half] * s;
      out[i + half] = x[i + half] * cos[i] + x[i] * s;
    }
  }
}

}  // namespace hftrain::nn::cpu
