// What the products of sgemm.h and bgemm.h pack their matrices with. Only for x86 with GCC's intrinsics.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#define HFTRAIN_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define HFTRAIN_AVX512_INLINE \
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"), always_inline)) inline

namespace hftrain::nn::cpu {

constexpr int kLanes = 16;  // numbers of 32 bits in a register

// Packed panels of a thread, kept: pages that are new each time cost more than the packing.
template <typename Number>
class Panels {
 public:
  Number* at_least(int64_t count) {
    if (count > size_) {
      constexpr size_t kAlignment = 64;
      const size_t bytes =
          (static_cast<size_t>(count) * sizeof(Number) + kAlignment - 1) / kAlignment * kAlignment;
      memory_.reset(static_cast<Number*>(std::aligned_alloc(kAlignment, bytes)));
      size_ = memory_ ? count : 0;
      if (!memory_) throw std::bad_alloc();
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(Number* memory) const { std::free(memory); }
  };
  std::unique_ptr<Number[], Free> memory_;
  int64_t size_ = 0;
};

// Memory that is packed next, asked for while a tile is multiplied: rows that lie far apart no processor foresees. `count` pieces of
// 128 bytes, the numbers of a panel's 32 columns in float32, `step` bytes from one to the next.
struct Ahead {
  const char* at = nullptr;
  int64_t step = 0, count = 0;

  static constexpr int64_t kSteps = 8;  // of a tile's sum, for each piece that it asks for

  // What is left behind the pieces that a tile with a sum of so many steps asked for.
  Ahead behind(int64_t steps) const {
    const int64_t asked = count < steps / kSteps ? count : steps / kSteps;
    return {at + asked * step, step, count - asked};
  }
};

// At step `i` of a tile's sum; `next`, from ahead.at on, goes with it.
HFTRAIN_AVX512_INLINE void ask_ahead(const Ahead& ahead, int64_t i, const char*& next) {
  if (i % Ahead::kSteps != 0 || i >= ahead.count * Ahead::kSteps) return;
  _mm_prefetch(next, _MM_HINT_T1);
  _mm_prefetch(next + 64, _MM_HINT_T1);
  next += ahead.step;
}

inline int64_t rounded_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

// rows r[i] of 16 → columns.
HFTRAIN_AVX512_INLINE void transpose(__m512 (&r)[kLanes]) {
  __m512 t[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
    r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
    r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
    r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

}  // namespace hftrain::nn::cpu
