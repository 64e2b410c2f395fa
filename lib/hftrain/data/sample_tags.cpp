#include "hftrain/data/sample_tags.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "hftrain/base/text.h"
#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

using Choices = std::span<const std::string_view>;

constexpr std::string_view kPersons[] = {"Ada", "Boris", "Clara", "Hugo", "Paris", "Sofia"};
constexpr std::string_view kSurnames[] = {"Lopez", "Okafor", "Tanaka", "Virtanen"};
constexpr std::string_view kCities[] = {"Kyiv", "Lima", "Oslo", "Paris", "Quito", "Sofia"};
constexpr std::string_view kFirms[] = {"Acme", "Boreal", "Cobalt", "Delta"};
constexpr std::string_view kEndings[] = {"Works", "Union", "Lines"};
constexpr std::string_view kPersonsOrFirms[] = {"Chelsea", "Jordan", "Milan"};
constexpr uint64_t kPersonShare = 3, kShares = 4;  // of kPersonsOrFirms

// A word, or one of several, with its tag.
struct TaggedSlot {
  std::string_view word;  // empty: one of `words`
  Choices words = {};
  std::string_view tag = "O";
  bool by_chance = false;  // B-PER or B-ORG
};

using Sentence = std::vector<TaggedSlot>;

const std::array<Sentence, 4>& sentences() {
  static const std::array<Sentence, 4> kSentences = {{
      {{"", kPersons, "B-PER"}, {"", kSurnames, "I-PER"}, {"lives"}, {"in"}, {"", kCities, "B-LOC"}, {"."}},
      {{"", kPersons, "B-PER"}, {"joins"}, {"the"}, {"", kFirms, "B-ORG"}, {"", kEndings, "I-ORG"}, {"."}},
      {{"the"}, {"train"}, {"to"}, {"", kCities, "B-LOC"}, {"leaves"}, {"at"}, {"noon"}, {"."}},
      {{"", kPersonsOrFirms, "", true}, {"wins"}, {"again"}, {"."}},
  }};
  return kSentences;
}

std::string draw_row(SplitMix64& random) {
  const Sentence& sentence = sentences()[random.below(sentences().size())];
  std::vector<std::string> words, tags;
  const auto quoted = [](std::string_view text) { return '"' + std::string(text) + '"'; };
  for (const TaggedSlot& slot : sentence) {
    words.push_back(quoted(slot.word.empty() ? slot.words[random.below(slot.words.size())] : slot.word));
    tags.push_back(quoted(!slot.by_chance                        ? slot.tag
                          : random.below(kShares) < kPersonShare ? "B-PER"
                                                                 : "B-ORG"));
  }
  return R"({"tokens": [)" + join(words, ", ") + R"(], "ner_tags": [)" + join(tags, ", ") + "]}\n";
}

}  // namespace

std::string sample_tags(uint64_t seed, int64_t bytes) {
  SplitMix64 random(seed);
  std::string rows = draw_row(random);
  while (true) {
    const std::string row = draw_row(random);
    if (static_cast<int64_t>(rows.size() + row.size()) > bytes) return rows;
    rows += row;
  }
}

TagFloor sample_tags_floor() {
  double words = 0, by_chance = 0;
  for (const Sentence& sentence : sentences()) {
    words += static_cast<double>(sentence.size());
    for (const TaggedSlot& slot : sentence) by_chance += slot.by_chance ? 1 : 0;
  }
  const double person = static_cast<double>(kPersonShare) / kShares, share = by_chance / words;
  const double entropy = -person * std::log(person) - (1 - person) * std::log(1 - person);
  return {.nats_per_word = share * entropy, .accuracy = 1 - share * (1 - person)};
}

}  // namespace hftrain::data
