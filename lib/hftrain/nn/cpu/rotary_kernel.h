// Rotation of the heads of one token.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

// `heads` vectors of 2·half floats, contiguous, go from x to out. sign −1 turns back (the transpose).
void rotate_token(const float* x, float* out, const float* cos, const float* sin, float sign, int64_t heads,
                  int64_t half);

}  // namespace hftrain::nn::cpu
