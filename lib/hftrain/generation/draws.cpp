#include "hftrain/generation/draws.h"

#include <algorithm>
#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/generation/probabilities.h"

namespace hftrain::generation {
namespace {

// The finaliser of SplitMix64 (Steele et al. 2014): every bit of the input reaches every bit of the output.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// `most` is the largest of these scores that are numbers, of which one is to be drawn.
void require_finite(float most, std::span<const float> scores) {
  if (std::isfinite(most)) return;
  const bool forbidden = most < 0 && std::ranges::none_of(scores, [](float x) { return std::isnan(x); });
  throw Error(ExitCode::kData, "no token can be drawn")
      .where("generating the next token")
      .why(forbidden ? "every token is forbidden: all scores are minus infinity" : "scores are infinite")
      .hint(forbidden ? "fewer suppress_tokens, bad_words_ids or forced tokens that exclude each other"
                      : "a temperature nearer to 1, or do_sample false");
}

}  // namespace

double uniform(const DrawKey& key) {
  const uint64_t bits = mixed(key.number ^ mixed(key.step ^ mixed(key.text ^ mixed(key.seed))));
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

int64_t draw_token(std::span<const float> scores, const DrawKey& key) {
  const float most = largest_of(scores);
  require_finite(most, scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - most);
  double left = uniform(key) * sum;
  int64_t last = 0;
  for (size_t id = 0; id < scores.size(); ++id) {
    const double power = std::exp(scores[id] - most);
    if (power <= 0) continue;
    last = static_cast<int64_t>(id);
    left -= power;
    if (left < 0) break;
  }
  return last;
}

std::vector<int64_t> draw_without_replacement(std::span<const float> scores, size_t count,
                                              const DrawKey& key) {
  require_finite(largest_of(scores), scores);
  std::vector<float> noisy(scores.begin(), scores.end());
  DrawKey place = key;
  for (float& score : noisy) {
    score += static_cast<float>(-std::log(-std::log(uniform(place))));
    ++place.number;
  }
  return largest(noisy, count);
}

}  // namespace hftrain::generation
