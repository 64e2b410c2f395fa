#include "hftrain/optim/cpu/elementwise.h"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HFTRAIN_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HFTRAIN_VECTORISED
#endif

namespace hftrain::optim::cpu {

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

HFTRAIN_VECTORISED void adamw(const AdamWStep& step, float* __restrict parameter,
                              const float* __restrict gradient, float* __restrict first,
                              float* __restrict second, int64_t n) {
  const AdamWStep s = step;
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float m = first[i] + s.rest1 * (g - first[i]);
    const float v = s.beta2 * second[i] + s.rest2 * (g * g);
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * s.decay - s.step_size * m / (std::sqrt(v) / s.root_scale + s.epsilon);
  }
}

}  // namespace hftrain::optim::cpu
