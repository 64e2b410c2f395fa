#include "hftrain/generation/probabilities.h"

#include <algorithm>
#include <cmath>

namespace hftrain::generation {
namespace {

// Σ exp(scores − most).
double sum_of_powers(std::span<const float> scores, float most) {
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - most);
  return sum;
}

}  // namespace

void log_softmax(std::span<float> scores) {
  const float most = *std::ranges::max_element(scores);
  const auto all = static_cast<float>(std::log(sum_of_powers(scores, most)));
  for (float& score : scores) score = score - most - all;
}

std::vector<float> softmax(std::span<const float> scores) {
  std::vector<float> probabilities(scores.size());
  const float most = *std::ranges::max_element(scores);
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
