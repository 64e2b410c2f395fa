// __half as LibTorch has it on the host: the same bits, rounded the same way.
#pragma once

#include <c10/util/Half.h>

using __half = c10::Half;

inline float __half2float(__half x) {
  return x;
}
inline __half __float2half_rn(float x) {
  return x;
}
