#include "hftrain/generation/draws.h"

#include <cmath>
#include <limits>
#include <map>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::generation {
namespace {

constexpr int kDraws = 20'000;
const std::vector<float> kScores = {0, 1, -std::numeric_limits<float>::infinity(), 2, -1};

double probability(size_t token) {
  double sum = 0;
  for (const float score : kScores) sum += std::exp(score);
  return std::exp(kScores[token]) / sum;
}

// Within 5 standard deviations of a binomial.
void check_share(int count, double p) {
  CHECK(std::abs(count - kDraws * p) <= 5 * std::sqrt(kDraws * p * (1 - p)));
}

}  // namespace

TEST_CASE("tokens are drawn by their probabilities") {
  std::map<int64_t, int> counts;
  for (int i = 0; i < kDraws; ++i)
    ++counts[draw_token(kScores, {.seed = 1, .text = static_cast<uint64_t>(i)})];
  for (size_t token = 0; token < kScores.size(); ++token)
    check_share(counts[static_cast<int64_t>(token)], probability(token));
}

TEST_CASE("nothing is drawn where every token is forbidden or a score is infinite") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& scores :
       {std::vector<float>(3, -infinity), std::vector<float>{0, infinity}}) {
    for (const bool several : {false, true}) {
      try {
        several ? static_cast<void>(draw_without_replacement(scores, 1, {}))
                : static_cast<void>(draw_token(scores, {}));
        FAIL("a token was drawn");
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kData);
      }
    }
  }
}

TEST_CASE("drawing without putting back gives the same first token and none twice") {
  std::map<int64_t, int> first, second_after_3;
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = draw_without_replacement(kScores, 2, {.seed = 2, .step = static_cast<uint64_t>(i)});
    CHECK(drawn[0] != drawn[1]);
    ++first[drawn[0]];
    if (drawn[0] == 3) ++second_after_3[drawn[1]];
  }
  check_share(first[3], probability(3));
  check_share(first[4], probability(4));
  const double share = probability(1) / (1 - probability(3));
  CHECK(std::abs(second_after_3[1] / static_cast<double>(first[3]) - share) < 0.03);
}

TEST_CASE("a random number is one of its key, and every part of the key counts") {
  const DrawKey key{.seed = 1, .text = 2, .step = 3, .number = 4};
  CHECK(uniform(key) == uniform(key));
  for (const DrawKey& other :
       {DrawKey{2, 2, 3, 4}, DrawKey{1, 3, 3, 4}, DrawKey{1, 2, 4, 4}, DrawKey{1, 2, 3, 5}})
    CHECK(uniform(key) != uniform(other));
}

}  // namespace hftrain::generation
