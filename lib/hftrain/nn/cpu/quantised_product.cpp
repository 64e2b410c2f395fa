#include "hftrain/nn/cpu/quantised_product.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace hftrain::nn::cpu {
namespace {

constexpr float kMostWeight = 127;
constexpr float kMostRow = 127 * 128;
constexpr int kOffset = 128;  // of a number without a sign
constexpr int64_t kQuad = 4;  // numbers that one instruction adds up in a lane

float largest(const float* numbers, int64_t count, int64_t stride) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(numbers[i * stride]));
  return most;
}

// Of each column of a group the largest of its numbers, read in the order in which they lie.
void largest_of_columns(const MatrixView& matrix, int64_t inner, int64_t first, int64_t count, float* most) {
  if (matrix.row == 1) {
    for (int64_t j = 0; j < count; ++j)
      most[j] = largest(matrix.data + (first + j) * matrix.column, inner, matrix.row);
    return;
  }
  for (int64_t k = 0; k < inner; ++k) {
    const float* row = matrix.data + k * matrix.row + first;
    for (int64_t j = 0; j < count; ++j) most[j] = std::max(most[j], std::fabs(row[j]));
  }
}

// The nearest whole number, to even from the middle; 0 for what is none of −most … most, NaN among them.
int32_t whole(float number, float most) {
  constexpr float kRounder = 12'582'912;  // 1.5 · 2²³: adding it leaves no place for a fraction
  const float rounded = (number + kRounder) - kRounder;
  return std::fabs(rounded) <= most ? static_cast<int32_t>(rounded) : 0;
}

}  // namespace

QuantisedRow::QuantisedRow(const float* numbers, int64_t count)
    : high(static_cast<size_t>((count + kQuad - 1) / kQuad * kQuad)), low(high.size()) {
  const float most = largest(numbers, count, 1);
  if (!(most > 0) || !std::isfinite(most)) return;
  scale = most / kMostRow;
  const float inverse = kMostRow / most;
  for (int64_t k = 0; k < count; ++k) {
    const int32_t number = whole(numbers[k] * inverse, kMostRow), part = number >> 7;
    high[static_cast<size_t>(k)] = static_cast<int8_t>(part);
    low[static_cast<size_t>(k)] = static_cast<int8_t>(number - part * 128);
    sum_high += part;
    sum_low += number - part * 128;
  }
}

QuantisedMatrix::QuantisedMatrix(int64_t inner, int64_t columns)
    : inner_(inner),
      columns_(columns),
      numbers_(c10::GetCPUAllocator()->allocate(static_cast<size_t>(groups() * group_bytes()))),
      scales_(static_cast<size_t>(groups() * kGroup)) {}

void QuantisedMatrix::pack(const MatrixView& matrix, int64_t group) {
  const int64_t first = group * kGroup, count = std::min(kGroup, columns_ - first);
  float most[kGroup] = {}, inverse[kGroup] = {};
  largest_of_columns(matrix, inner_, first, count, most);
  for (int64_t j = 0; j < count; ++j) {
    scales_[static_cast<size_t>(first + j)] = most[j] / kMostWeight;
    inverse[j] = most[j] > 0 ? kMostWeight / most[j] : 0;
  }
  uint8_t* target = numbers_of(group);
  std::memset(target, kOffset, static_cast<size_t>(group_bytes()));
  const auto put = [&](int64_t k, int64_t j, float number) {
    target[k / kQuad * kQuad * kGroup + j * kQuad + k % kQuad] =
        static_cast<uint8_t>(whole(number * inverse[j], kMostWeight) + kOffset);
  };
  if (matrix.row == 1) {
    for (int64_t j = 0; j < count; ++j) {
      const float* column = matrix.data + (first + j) * matrix.column;
      for (int64_t k = 0; k < inner_; ++k) put(k, j, column[k]);
    }
    return;
  }
  for (int64_t k = 0; k < inner_; ++k) {
    const float* row = matrix.data + k * matrix.row + first;
    for (int64_t j = 0; j < count; ++j) put(k, j, row[j]);
  }
}

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

#define HFTRAIN_QUANTISED __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512vnni,fma")))

constexpr int kLanes = 16;                 // columns of a register
constexpr int kRegisters = 4;              // of a group
constexpr int64_t kAskedAhead = 16 * 256;  // bytes: memory is asked for them before they are needed

struct GroupSums {
  __m512i high[kRegisters], low[kRegisters];
};

HFTRAIN_QUANTISED GroupSums sums_of(const uint8_t* numbers, const QuantisedRow& row, int64_t quads) {
  GroupSums sums;
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; ++i) sums.high[i] = sums.low[i] = _mm512_setzero_si512();
  for (int64_t k = 0; k < quads; ++k, numbers += kRegisters * 64) {
    int32_t four_high, four_low;
    std::memcpy(&four_high, row.high.data() + k * kQuad, sizeof(four_high));
    std::memcpy(&four_low, row.low.data() + k * kQuad, sizeof(four_low));
    const __m512i high = _mm512_set1_epi32(four_high), low = _mm512_set1_epi32(four_low);
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      const __m512i weights = _mm512_loadu_si512(numbers + i * 64);
      _mm_prefetch(reinterpret_cast<const char*>(numbers) + kAskedAhead + i * 64, _MM_HINT_T1);
      sums.high[i] = _mm512_dpbusd_epi32(sums.high[i], weights, high);
      sums.low[i] = _mm512_dpbusd_epi32(sums.low[i], weights, low);
    }
  }
  return sums;
}

// Of one group: its first `count` columns.
HFTRAIN_QUANTISED void finish_group(const GroupSums& sums, const QuantisedRow& row, const float* scales,
                                    const float* bias, bool add, float* out, int64_t count) {
  const __m512i without_high = _mm512_set1_epi32(kOffset * row.sum_high);
  const __m512i without_low = _mm512_set1_epi32(kOffset * row.sum_low);
  for (int i = 0; i < kRegisters && i * kLanes < count; ++i) {
    const int64_t left = count - i * kLanes;
    const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFFU : (1U << left) - 1U);
    const __m512 high = _mm512_cvtepi32_ps(_mm512_sub_epi32(sums.high[i], without_high));
    const __m512 low = _mm512_cvtepi32_ps(_mm512_sub_epi32(sums.low[i], without_low));
    const __m512 sum = _mm512_fmadd_ps(high, _mm512_set1_ps(128), low);
    const __m512 scale = _mm512_mul_ps(_mm512_loadu_ps(scales + i * kLanes), _mm512_set1_ps(row.scale));
    __m512 start = bias != nullptr ? _mm512_maskz_loadu_ps(mask, bias + i * kLanes) : _mm512_setzero_ps();
    if (add) start = _mm512_add_ps(start, _mm512_maskz_loadu_ps(mask, out + i * kLanes));
    _mm512_mask_storeu_ps(out + i * kLanes, mask, _mm512_fmadd_ps(sum, scale, start));
  }
}

}  // namespace

bool has_quantised_product() {
  static const bool has = has_sgemm() && __builtin_cpu_supports("avx512vnni");
  return has;
}

void QuantisedMatrix::multiply(const QuantisedRow& row, const float* bias, bool add, float* out,
                               int64_t begin, int64_t end) const {
  for (int64_t group = begin; group < end; ++group) {
    const int64_t first = group * kGroup;
    const GroupSums sums = sums_of(numbers_of(group), row, quads());
    finish_group(sums, row, scales_.data() + first, bias != nullptr ? bias + first : nullptr, add,
                 out + first, std::min(kGroup, columns_ - first));
  }
}

#else

bool has_quantised_product() {
  return false;
}

void QuantisedMatrix::multiply(const QuantisedRow&, const float*, bool, float*, int64_t, int64_t) const {}

#endif

}  // namespace hftrain::nn::cpu
