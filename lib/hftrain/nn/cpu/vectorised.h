// Plain loops that the compiler vectorises, once per instruction set; the loader picks the version of the
// machine.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HFTRAIN_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HFTRAIN_VECTORISED
#endif
#define HFTRAIN_INLINE inline __attribute__((always_inline))

namespace hftrain::nn::cpu {

// e^x within 2 ulp, 0 for x below −87, where the normal numbers end, and e^88 above 88; NaN stays NaN. Branch-free, so that loops over it
// vectorise: x = n·ln 2 + r, 2^n through the exponent bits, e^r by its Taylor polynomial on |r| <= ln 2 / 2.
HFTRAIN_INLINE float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5·2^23: adding it rounds to an integer held in the low bits
  const float clamped = x > 88.0f ? 88.0f : x;
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127u) << 23;
  const float result = p * std::bit_cast<float>(exponent);
  return x < -87.0f ? 0.0f : result;
}

HFTRAIN_INLINE float sigmoid(float x) {
  return 1.0f / (1.0f + fast_exp(-x));
}

}  // namespace hftrain::nn::cpu
