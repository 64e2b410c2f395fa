#include "hftrain/generation/probabilities.h"

#include <algorithm>
#include <array>
#include <bit>
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

struct Placed {
  uint32_t key;  // the smaller, the larger the score
  uint32_t place;
};

uint32_t descending_key(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0F);  // −0 is 0
  return (bits >> 31) != 0 ? bits : ~bits & 0x7FFFFFFFU;
}

// All places, best first: by the digits of their keys from the last to the first, each of which leaves equal ones in their order.
std::vector<int64_t> sorted_places(std::span<const float> scores) {
  constexpr uint32_t kDigitBits = 11, kDigits = 3, kValues = 1U << kDigitBits;
  std::vector<Placed> placed(scores.size()), moved(scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    placed[i] = {descending_key(scores[i]), static_cast<uint32_t>(i)};
  for (uint32_t digit = 0; digit < kDigits; ++digit) {
    const auto value = [&](const Placed& one) { return one.key >> (digit * kDigitBits) & (kValues - 1); };
    std::array<size_t, kValues + 1> begin{};
    for (const Placed& one : placed) ++begin[value(one) + 1];
    for (size_t i = 1; i <= kValues; ++i) begin[i] += begin[i - 1];
    for (const Placed& one : placed) moved[begin[value(one)]++] = one;
    placed.swap(moved);
  }
  std::vector<int64_t> places(placed.size());
  std::ranges::transform(placed, places.begin(), [](const Placed& one) { return int64_t{one.place}; });
  return places;
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
  if (count > scores.size() / 16) {
    std::vector<int64_t> places = sorted_places(scores);
    places.resize(count);
    return places;
  }
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
