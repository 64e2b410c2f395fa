#include "hftrain/optim/cpu/elementwise.h"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HFTRAIN_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define HFTRAIN_FUSED_MULTIPLY_ADD (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
#else
#define HFTRAIN_VECTORISED
#ifdef __FP_FAST_FMAF
#define HFTRAIN_FUSED_MULTIPLY_ADD true
#else
#define HFTRAIN_FUSED_MULTIPLY_ADD false
#endif
#endif

namespace hftrain::optim::cpu {
namespace {

// a·b + c, with one rounding or two.
template <bool kFused>
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
  return kFused ? __builtin_fmaf(a, b, c) : a * b + c;
}

// The operations and roundings of the vector body of LibTorch's fused kernel, in its order.
template <bool kFused>
[[gnu::always_inline]] inline void adamw_loop(const AdamWStep& step, float* __restrict parameter,
                                              const float* __restrict gradient, float* __restrict first,
                                              float* __restrict second, int64_t n) {
  const AdamWStep s = step;
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * s.factor;
    const float m = multiply_add<kFused>(s.rest1, g - first[i], first[i]);
    const float v = multiply_add<kFused>(s.rest2 * g, g, s.beta2 * second[i]);
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * s.decay - s.step_size * m / (std::sqrt(v) / s.root_scale + s.epsilon);
  }
}

HFTRAIN_VECTORISED void adamw_fused(const AdamWStep& step, float* parameter, const float* gradient,
                                    float* first, float* second, int64_t n) {
  adamw_loop<true>(step, parameter, gradient, first, second, n);
}

void adamw_separate(const AdamWStep& step, float* parameter, const float* gradient, float* first,
                    float* second, int64_t n) {
  adamw_loop<false>(step, parameter, gradient, first, second, n);
}

}  // namespace

HFTRAIN_VECTORISED double sum_of_squares(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double sums[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      sums[lane] += value * value;
    }
  }
  double sum = 0;
  for (int64_t i = whole; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  for (const double each : sums) sum += each;
  return sum;
}

void adamw(const AdamWStep& step, float* parameter, const float* gradient, float* first, float* second,
           int64_t n) {
  static const bool fused = HFTRAIN_FUSED_MULTIPLY_ADD;
  (fused ? adamw_fused : adamw_separate)(step, parameter, gradient, first, second, n);
}

}  // namespace hftrain::optim::cpu
