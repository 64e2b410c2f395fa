#include "hftrain/generation/probabilities.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int64_t a, int64_t b) {
    const float left = scores[static_cast<size_t>(a)], right = scores[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  if (count < order.size()) std::nth_element(order.begin(), end, order.end(), better);
  std::sort(order.begin(), end, better);
  order.resize(count);
  return order;
}

}  // namespace hftrain::generation
