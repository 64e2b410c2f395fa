#include "hftrain/data/sample_classes.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

using ClassWords = std::span<const std::string_view>;

constexpr uint64_t kWrongOnceIn = 10;  // rows
constexpr std::string_view kJudged[] = {"soup", "bread", "room", "garden", "music", "coffee"};
constexpr std::string_view kGood[] = {"splendid", "lovely", "perfect"};
constexpr std::string_view kFair[] = {"usual", "decent", "passable"};
constexpr std::string_view kBad[] = {"awful", "dreary", "broken"};
constexpr std::array<ClassWords, 3> kJudgements = {kGood, kFair, kBad};
constexpr std::array<std::string_view, 3> kJudgementNames = {"good", "fair", "bad"};

constexpr std::string_view kShades[] = {"red", "green", "white", "black"};
constexpr std::string_view kObjects[] = {"box", "boat", "lamp", "coat"};
constexpr std::string_view kSites[] = {"by the door", "on the hill", "under the oak", "near the bridge"};
constexpr std::array<std::string_view, 2> kPairNames = {"different", "same"};

std::string_view drawn_word(SplitMix64& random, ClassWords words) {
  return words[random.below(words.size())];
}

// `right`, or once in a while another one of `classes`.
size_t class_by_chance(SplitMix64& random, size_t right, size_t classes) {
  if (random.below(kWrongOnceIn) != 0) return right;
  return (right + 1 + random.below(classes - 1)) % classes;
}

std::string draw_judged_text(SplitMix64& random) {
  std::string text;
  size_t judgement = 0;
  for (uint64_t clause = 0, clauses = 1 + random.below(2); clause < clauses; ++clause) {
    judgement = random.below(kJudgements.size());
    text += (clause > 0 ? " but the " : "the ") + std::string(drawn_word(random, kJudged)) + " was " +
            std::string(drawn_word(random, kJudgements[judgement]));
  }
  const size_t label = class_by_chance(random, judgement, kJudgements.size());
  return R"({"sentence": ")" + text + R"(", "label": ")" + std::string(kJudgementNames[label]) + "\"}\n";
}

std::string draw_told_pair(SplitMix64& random) {
  const size_t same = random.below(2), colour = random.below(std::size(kShades));
  const size_t told =
      same == 1 ? colour : (colour + 1 + random.below(std::size(kShades) - 1)) % std::size(kShades);
  const std::string object(drawn_word(random, kObjects)), site(drawn_word(random, kSites));
  const std::string first = "the " + std::string(kShades[colour]) + ' ' + object + " stands " + site,
                    second = site + " there is a " + std::string(kShades[told]) + ' ' + object;
  const size_t label = class_by_chance(random, same, kPairNames.size());
  return R"({"sentence1": ")" + first + R"(", "sentence2": ")" + second + R"(", "label": ")" +
         std::string(kPairNames[label]) + "\"}\n";
}

std::string drawn_rows(uint64_t seed, int64_t bytes, std::string (*draw)(SplitMix64&)) {
  SplitMix64 random(seed);
  std::string rows = draw(random);
  while (true) {
    const std::string row = draw(random);
    if (static_cast<int64_t>(rows.size() + row.size()) > bytes) return rows;
    rows += row;
  }
}

ClassFloor class_floor_of(size_t classes) {
  const double wrong = 1.0 / static_cast<double>(kWrongOnceIn), right = 1 - wrong;
  const double each = wrong / static_cast<double>(classes - 1);
  return {.nats_per_row = -right * std::log(right) - wrong * std::log(each), .accuracy = right};
}

}  // namespace

std::string sample_classes(uint64_t seed, int64_t bytes) {
  return drawn_rows(seed, bytes, draw_judged_text);
}

std::string sample_pairs(uint64_t seed, int64_t bytes) {
  return drawn_rows(seed, bytes, draw_told_pair);
}

ClassFloor sample_classes_floor() {
  return class_floor_of(kJudgementNames.size());
}

ClassFloor sample_pairs_floor() {
  return class_floor_of(kPairNames.size());
}

}  // namespace hftrain::data
