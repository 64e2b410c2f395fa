#include "hftrain/data/masking.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "support/catch.h"

namespace hftrain::data {
namespace {

constexpr int64_t kHidden = 5, kWords = 1000;

// A sample of ids 100, 101, …, as masking leaves it.
struct HiddenSample {
  std::vector<int64_t> ids, labels, roles;

  HiddenSample(std::vector<int64_t> given_roles, const MaskingOptions& options, const DrawKey& key,
               int64_t number)
      : ids(given_roles.size()), labels(given_roles.size()), roles(std::move(given_roles)) {
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = before(i);
    mask_tokens({ids, roles, labels}, options, key, number);
  }
  static int64_t before(size_t place) { return 100 + static_cast<int64_t>(place); }
};

// A share of n draws lies within five standard deviations of p.
bool is_about(double count, double n, double p) {
  return std::abs(count - n * p) < 5 * std::sqrt(n * p * (1 - p));
}

TEST_CASE("of the tokens one share is chosen, and 80, 10 and 10 % of these are masked, replaced and kept") {
  for (const double probability : {0.15, 0.4}) {
    double places = 0, chosen = 0, masked = 0, kept = 0;
    std::map<int64_t, int> replacements;
    for (int64_t sample = 0; sample < 2000; ++sample) {
      const HiddenSample hidden(std::vector<int64_t>(100, kMayBeMasked), {probability, kHidden, kWords},
                                {7, 1}, sample);
      for (size_t i = 0; i < hidden.ids.size(); ++i) {
        ++places;
        if (hidden.labels[i] == -100) {
          CHECK(hidden.ids[i] == HiddenSample::before(i));
          continue;
        }
        CHECK(hidden.labels[i] == HiddenSample::before(i));
        ++chosen;
        if (hidden.ids[i] == kHidden)
          ++masked;
        else if (hidden.ids[i] == hidden.labels[i])
          ++kept;
        else
          ++replacements[hidden.ids[i]];
      }
    }
    CHECK(is_about(chosen, places, probability));
    CHECK(is_about(masked, chosen, 0.8 + 0.1 / kWords));
    CHECK(is_about(kept, chosen, 0.1 + 0.1 / kWords));
    // Every id of the vocabulary, about as often.
    CHECK(replacements.begin()->first >= 0);
    CHECK(replacements.rbegin()->first < kWords);
    CHECK(replacements.size() > kWords * 0.9);
    const double replaced = chosen - masked - kept;
    double squares = 0;
    for (const auto& [id, count] : replacements) squares += count * count;
    const double mean = replaced / kWords;
    const double chi_square = squares / mean - replaced;  // 999 degrees of freedom
    CHECK(std::abs(chi_square - kWords) < 5 * std::sqrt(2.0 * kWords));
  }
}

TEST_CASE("what is masked depends on seed, epoch and sample, and on nothing else") {
  const std::vector<int64_t> roles(200, kMayBeMasked);
  const MaskingOptions options{0.15, kHidden, kWords};
  const HiddenSample one(roles, options, {42, 3}, 17), again(roles, options, {42, 3}, 17);
  CHECK(one.ids == again.ids);
  CHECK(one.labels == again.labels);
  CHECK(one.labels != HiddenSample(roles, options, {43, 3}, 17).labels);
  CHECK(one.labels != HiddenSample(roles, options, {42, 4}, 17).labels);
  CHECK(one.labels != HiddenSample(roles, options, {42, 3}, 18).labels);
  // A shorter sample has the beginning of it.
  const HiddenSample beginning(std::vector<int64_t>(50, kMayBeMasked), options, {42, 3}, 17);
  CHECK(std::equal(beginning.ids.begin(), beginning.ids.end(), one.ids.begin()));
}

TEST_CASE("special tokens are never masked, nor labelled") {
  std::vector<int64_t> roles(100, kMayBeMasked);
  for (size_t i = 0; i < roles.size(); i += 3) roles[i] = kNeverMasked;
  for (int64_t sample = 0; sample < 300; ++sample) {
    const HiddenSample hidden(roles, {0.9, kHidden, kWords}, {}, sample);
    for (size_t i = 0; i < roles.size(); i += 3) {
      CHECK(hidden.ids[i] == HiddenSample::before(i));
      CHECK(hidden.labels[i] == -100);
    }
  }
}

TEST_CASE("whole words are masked or not, with one probability a word") {
  // Words of one to four tokens, and special tokens between some.
  std::vector<int64_t> roles;
  std::vector<size_t> begins;
  for (size_t word = 0; word < 60; ++word) {
    begins.push_back(roles.size());
    roles.push_back(kMayBeMasked);
    roles.insert(roles.end(), word % 4, kContinuesWord);
    if (word % 5 == 0) roles.push_back(kNeverMasked);
  }
  double words = 0, chosen = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    const HiddenSample hidden(roles, {0.2, kHidden, kWords, /*whole_words=*/true}, {1, 0}, sample);
    for (size_t word = 0; word < begins.size(); ++word) {
      const bool first = hidden.labels[begins[word]] != -100;
      ++words;
      chosen += first ? 1 : 0;
      for (size_t i = begins[word]; i < begins[word] + 1 + word % 4; ++i) {
        CHECK((hidden.labels[i] != -100) == first);
        CHECK(hidden.ids[i] == (first ? kHidden : HiddenSample::before(i)));
      }
    }
  }
  CHECK(is_about(chosen, words, 0.2));
}

TEST_CASE("a word that a block begins within is masked from there on") {
  const std::vector<int64_t> roles = {kContinuesWord, kContinuesWord, kMayBeMasked};
  int masked = 0;
  for (int64_t sample = 0; sample < 200; ++sample) {
    const HiddenSample hidden(roles, {0.5, kHidden, kWords, true}, {}, sample);
    CHECK((hidden.labels[0] == -100) == (hidden.labels[1] == -100));
    masked += hidden.labels[0] != -100 ? 1 : 0;
  }
  CHECK(is_about(masked, 200, 0.5));
}

}  // namespace
}  // namespace hftrain::data
