// Loops of the dropout of dropout.h. A product is rounded before it is added, as ATen's are.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

// out = x·kept·scale, where kept is 0 or 1.
void masked_scale(const float* x, const uint8_t* kept, float scale, float* out, int64_t n);

// out = residual + x·kept·scale.
void masked_scale_add(const float* residual, const float* x, const uint8_t* kept, float scale, float* out,
                      int64_t n);

}  // namespace hftrain::nn::cpu
