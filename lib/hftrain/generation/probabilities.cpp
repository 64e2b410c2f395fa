#include "hftrain/generation/probabilities.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace hftrain::generation {
namespace {

constexpr size_t kLanes = 16;  // scores at once

// Σ exp(scores − most).
double sum_of_powers(std::span<const float> scores, float most) {
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - most);
  return sum;
}

}  // namespace

bool are_numbers(std::span<const float> scores) {
  uint32_t others = 0;
  for (const float score : scores) others |= static_cast<uint32_t>(score != score);
  return others == 0;
}

float largest_of(std::span<const float> scores) {
  std::array<float, kLanes> most;
  most.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= scores.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      most[lane] = scores[i + lane] > most[lane] ? scores[i + lane] : most[lane];
  }
  for (; i < scores.size(); ++i) most[0] = scores[i] > most[0] ? scores[i] : most[0];
  return std::ranges::max(most);
}

int64_t position_of_largest(std::span<const float> scores) {
  const auto found = std::ranges::find(scores, largest_of(scores));
  return found == scores.end() ? 0 : found - scores.begin();
}

void log_softmax(std::span<float> scores) {
  const float most = largest_of(scores);
  const auto all = static_cast<float>(std::log(sum_of_powers(scores, most)));
  for (float& score : scores) score = score - most - all;
}

std::vector<float> softmax(std::span<const float> scores) {
  std::vector<float> probabilities(scores.size());
  const float most = largest_of(scores);
  const double sum = sum_of_powers(scores, most);
  std::ranges::transform(scores, probabilities.begin(),
                         [&](float score) { return static_cast<float>(std::exp(score - most) / sum); });
  return probabilities;
}

std::vector<int64_t> largest(std::span<const float> scores, size_t count) {
  const auto better = [&](int64_t a, int64_t b) {
    const float left = scores[static_cast<size_t>(a)], right = scores[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  // A heap whose first is the worst of the best so far: most scores are compared once.
  std::vector<int64_t> best;
  for (size_t i = 0; i < scores.size() && count > 0; ++i) {
    if (best.size() == count && !(scores[i] > scores[static_cast<size_t>(best.front())])) continue;
    if (best.size() == count) {
      std::ranges::pop_heap(best, better);
      best.pop_back();
    }
    best.push_back(static_cast<int64_t>(i));
    std::ranges::push_heap(best, better);
  }
  std::ranges::sort(best, better);
  return best;
}

}  // namespace hftrain::generation
