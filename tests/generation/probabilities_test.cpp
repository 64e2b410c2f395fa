#include "hftrain/generation/probabilities.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "support/catch.h"

namespace hftrain::generation {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// With many that are equal, both zeros and both infinities.
std::vector<float> drawn(size_t count) {
  std::mt19937 engine(7);
  std::vector<float> scores(count);
  for (float& score : scores) score = static_cast<float>(static_cast<int>(engine() % 201) - 100) / 8;
  if (count > 20) scores[5] = -0.0F, scores[9] = 0.0F, scores[11] = -kInfinity, scores[17] = kInfinity;
  return scores;
}

}  // namespace

TEST_CASE("the largest scores come best first, of equal ones the earlier") {
  for (const size_t size : {1, 7, 40, 1000}) {
    const std::vector<float> scores = drawn(size);
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    for (size_t count = 0; count <= size; ++count) {
      INFO(count << " of " << size);
      CHECK(largest(scores, count) ==
            std::vector<int64_t>(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)));
    }
    CHECK(largest_of(scores) == scores[static_cast<size_t>(order.front())]);
    CHECK(position_of_largest(scores) == order.front());
  }
}

TEST_CASE("NaN is found wherever it stands, and is never the largest") {
  for (const size_t size : {1, 15, 16, 17, 100}) {
    std::vector<float> scores(size, -2.0F);
    CHECK(are_numbers(scores));
    for (size_t place = 0; place < size; ++place) {
      std::vector<float> spoiled = scores;
      spoiled[place] = kNan;
      CHECK_FALSE(are_numbers(spoiled));
      if (size > 1) CHECK(position_of_largest(spoiled) == (place == 0 ? 1 : 0));
    }
  }
  CHECK(position_of_largest(std::vector<float>{kNan, kNan}) == 0);
  CHECK(position_of_largest(std::vector<float>{-kInfinity, -kInfinity}) == 0);
}

}  // namespace hftrain::generation
