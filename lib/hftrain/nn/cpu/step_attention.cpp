#include "hftrain/nn/cpu/step_attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {
namespace {

constexpr int64_t kPlaces = 4;  // at once

// Scores begin where a register does, so that a compiler's sum of them has one order.
struct alignas(64) Line {
  float numbers[16];
};

// scores[j] = scale · (query · key j)
HFTRAIN_VECTORISED void score(const float* query, const float* keys, int64_t stride, int64_t count,
                              int64_t width, float scale, float* scores) {
  int64_t j = 0;
  for (; j + kPlaces <= count; j += kPlaces, keys += kPlaces * stride) {
    float a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int64_t i = 0; i < width; ++i) {
      a += query[i] * keys[i];
      b += query[i] * keys[i + stride];
      c += query[i] * keys[i + 2 * stride];
      d += query[i] * keys[i + 3 * stride];
    }
    scores[j] = a * scale, scores[j + 1] = b * scale, scores[j + 2] = c * scale, scores[j + 3] = d * scale;
  }
  for (; j < count; ++j, keys += stride) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) sum += query[i] * keys[i];
    scores[j] = sum * scale;
  }
}

HFTRAIN_VECTORISED float largest(const float* scores, int64_t count) {
  float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
  for (int64_t j = 0; j < count; ++j) most = scores[j] > most ? scores[j] : most;
  return most;
}

// exp(score − most) in place; their sum.
HFTRAIN_VECTORISED float weigh(float* scores, int64_t count, float most) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < count; ++j) {
    scores[j] = fast_exp(scores[j] - most);
    sum += scores[j];
  }
  return sum;
}

// out = factor · Σ_j weights[j] · value j
HFTRAIN_VECTORISED void mix(const float* weights, const float* values, int64_t stride, int64_t count,
                            int64_t width, float factor, float* out) {
  std::fill_n(out, width, 0.0F);
  int64_t j = 0;
  for (; j + kPlaces <= count; j += kPlaces, values += kPlaces * stride) {
    const float a = weights[j], b = weights[j + 1], c = weights[j + 2], d = weights[j + 3];
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      out[i] += (a * values[i] + b * values[i + stride]) +
                (c * values[i + 2 * stride] + d * values[i + 3 * stride]);
    }
  }
  for (; j < count; ++j, values += stride) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) out[i] += weights[j] * values[i];
  }
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) out[i] *= factor;
}

// What a mask and a bias make of the scores of `count` keys.
void add_bias(const bool* seen, const float* bias, int64_t count, float* scores) {
  for (int64_t j = 0; j < count; ++j) {
    const bool visible = seen == nullptr || seen[j];
    if (bias != nullptr) {
      scores[j] += visible ? bias[j] : std::numeric_limits<float>::lowest();
    } else if (!visible) {
      scores[j] = -std::numeric_limits<float>::infinity();
    }
  }
}

void attend_query(const StepAttention& step, int64_t row, int64_t head, int64_t query, float* scores) {
  const int64_t end = std::min(step.places, step.past + query + 1);
  const int64_t begin = std::max<int64_t>(0, end - step.window), count = end - begin;
  const int64_t key_head = head / (step.heads / step.key_heads);
  const auto keys_of = [&](const HeadsView& view) {
    return view.data + row * view.row + begin * view.place + key_head * view.head;
  };
  const float* own =
      step.query.data + row * step.query.row + query * step.query.place + head * step.query.head;
  float* out = step.out + ((row * step.queries + query) * step.heads + head) * step.width;
  score(own, keys_of(step.key), step.key.place, count, step.width, step.scale, scores);
  if (step.seen != nullptr || step.bias != nullptr) {
    const bool* seen = step.seen == nullptr ? nullptr : step.seen + row * step.seen_row + begin;
    const float* bias = step.bias == nullptr ? nullptr
                                             : step.bias + row * step.bias_row + head * step.bias_head +
                                                   query * step.bias_query + begin;
    add_bias(seen, bias, count, scores);
  }
  const float most = largest(scores, count);
  if (most == -std::numeric_limits<float>::infinity()) {
    // NaN is none of them, and is seen in the sum.
    const bool hidden = std::all_of(scores, scores + count, [&](float x) { return x == most; });
    std::fill_n(out, step.width, hidden ? 0.0F : std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const float sum = weigh(scores, count, most);
  mix(scores, keys_of(step.value), step.value.place, count, step.width, 1 / sum, out);
}

}  // namespace

void attend_step(const StepAttention& step, int64_t begin, int64_t end) {
  std::vector<Line> room(static_cast<size_t>(step.places / 16 + 1));
  float* const scores = room.data()->numbers;
  for (int64_t item = begin; item < end; ++item) {
    for (int64_t query = 0; query < step.queries; ++query)
      attend_query(step, item / step.heads, item % step.heads, query, scores);
  }
}

}  // namespace hftrain::nn::cpu
