#include "hftrain/nn/cpu/cross_entropy_kernel.h"

#include <bit>
#include <cmath>

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {
namespace {

HFTRAIN_VECTORISED float row_max(const float* x, int64_t n) {
  float best = x[0];
#pragma omp simd reduction(max : best)
  for (int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

HFTRAIN_VECTORISED float row_sum(const float* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

HFTRAIN_VECTORISED float row_sum_exp(const float* x, int64_t n, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += fast_exp(x[i] - shift);
  return sum;
}

HFTRAIN_VECTORISED float row_exp(float* x, int64_t n, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const float e = fast_exp(x[i] - shift);
    x[i] = e;
    sum += e;
  }
  return sum;
}

HFTRAIN_VECTORISED void row_affine(float* x, int64_t n, float factor, float offset) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor + offset;
}

// With s = Σ exp(x − max): −log p[j] = max + log s − x[j].
float row_loss(const float* logits, float label_logit, float log_sum, const CrossEntropyRow& row) {
  const float likelihood = log_sum - label_logit;
  if (row.smoothing == 0) return likelihood;
  const float mean = log_sum - row_sum(logits, row.vocab) / static_cast<float>(row.vocab);
  return (1 - row.smoothing) * likelihood + row.smoothing * mean;
}

}  // namespace

HFTRAIN_VECTORISED void widen(const uint16_t* source, float* target, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) target[i] = std::bit_cast<float>(static_cast<uint32_t>(source[i]) << 16U);
}

// To the nearest, of two as near to the even one.
HFTRAIN_VECTORISED void round_to_bfloat16(const float* source, uint16_t* target, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(source[i]);
    const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    target[i] = static_cast<uint16_t>(is_nan ? 0x7FC0U : rounded);
  }
}

float cross_entropy(const float* logits, int64_t label, const CrossEntropyRow& row) {
  const float highest = row_max(logits, row.vocab);
  const float log_sum = highest + std::log(row_sum_exp(logits, row.vocab, highest));
  return row_loss(logits, logits[label], log_sum, row);
}

float cross_entropy_with_gradient(float* logits, int64_t label, const CrossEntropyRow& row) {
  const float highest = row_max(logits, row.vocab);
  const float label_logit = logits[label];
  const float smoothing_sum = row.smoothing == 0 ? 0.0f : row_sum(logits, row.vocab);
  const float sum = row_exp(logits, row.vocab, highest);
  const float log_sum = highest + std::log(sum);
  const float share = row.smoothing / static_cast<float>(row.vocab);
  row_affine(logits, row.vocab, row.scale / sum, -row.scale * share);
  logits[label] -= row.scale * (1 - row.smoothing);
  const float likelihood = log_sum - label_logit;
  if (row.smoothing == 0) return likelihood;
  return (1 - row.smoothing) * likelihood + row.smoothing * log_sum - share * smoothing_sum;
}

}  // namespace hftrain::nn::cpu
