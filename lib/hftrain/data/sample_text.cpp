#include "hftrain/data/sample_text.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kNames[] = {"Ada", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo"};
constexpr std::string_view kAdjectives[] = {"old",    "small",  "quiet", "bright",
                                            "lonely", "clever", "green", "tired"};
constexpr std::string_view kAnimals[] = {"fox", "owl", "horse", "rabbit", "crow", "otter", "wolf", "hen"};
constexpr std::string_view kVerbs[] = {"watches", "follows", "greets", "forgets", "helps", "hears"};
constexpr std::string_view kPlaces[] = {"by the river", "in the barn", "near the bridge", "under the oak",
                                        "on the hill"};
constexpr std::string_view kThings[] = {"apples", "stones", "letters", "coins", "feathers", "candles"};
constexpr std::string_view kTimes[] = {"morning", "noon", "evening", "midnight"};
constexpr std::string_view kNumbers[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10",
                                         "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21",
                                         "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32"};

// In a pattern, %n is the word drawn for place n and %+ab the sum of the numbers drawn for places a and b.
struct Pattern {
  std::string_view text;
  std::vector<Words> places;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> kPatterns = {
      {"The %0 %1 %2 the %3 %4.", {kAdjectives, kAnimals, kVerbs, kAnimals, kPlaces}},
      {"At %0 %1 and the %2 meet %3, and at %0 they part.", {kTimes, kNames, kAnimals, kPlaces}},
      {"%0 has %1 %2 and finds %3 more, so %0 has %+13 %2.", {kNames, kNumbers, kThings, kNumbers}},
      {"%0 + %1 = %+01", {kNumbers, kNumbers}},
  };
  return kPatterns;
}

// Calls text(view), word(place) and sum(a, b) for the parts of a pattern in order.
template <typename Text, typename Word, typename Sum>
void visit_parts(std::string_view pattern, Text text, Word word, Sum sum) {
  const auto digit = [&](size_t at) { return static_cast<size_t>(pattern[at] - '0'); };
  while (!pattern.empty()) {
    const size_t mark = std::min(pattern.find('%'), pattern.size());
    text(pattern.substr(0, mark));
    pattern.remove_prefix(mark);
    if (pattern.empty()) break;
    const bool is_sum = pattern[1] == '+';
    if (is_sum) {
      sum(digit(2), digit(3));
    } else {
      word(digit(1));
    }
    pattern.remove_prefix(is_sum ? 4 : 2);
  }
}

std::string draw_line(SplitMix64& random) {
  const Pattern& pattern = patterns()[random.below(patterns().size())];
  std::vector<size_t> drawn;
  for (const Words& words : pattern.places) drawn.push_back(random.below(words.size()));
  std::string line;
  visit_parts(
      pattern.text, [&](std::string_view text) { line += text; },
      [&](size_t place) { line += pattern.places[place][drawn[place]]; },
      [&](size_t a, size_t b) { line += std::to_string(drawn[a] + drawn[b]); });
  return line + '\n';
}

double mean_length(Words words) {
  double sum = 0;
  for (const std::string_view word : words) sum += static_cast<double>(word.size());
  return sum / static_cast<double>(words.size());
}

double mean_sum_length() {
  double sum = 0;
  for (size_t a = 0; a < std::size(kNumbers); ++a) {
    for (size_t b = 0; b < std::size(kNumbers); ++b) sum += static_cast<double>(std::to_string(a + b).size());
  }
  return sum / static_cast<double>(std::size(kNumbers) * std::size(kNumbers));
}

}  // namespace

std::string sample_text(uint64_t seed, int64_t bytes) {
  SplitMix64 random(seed);
  std::string text = draw_line(random);
  while (true) {
    const std::string line = draw_line(random);
    if (static_cast<int64_t>(text.size() + line.size()) > bytes) return text;
    text += line;
  }
}

TextFloor sample_text_floor() {
  TextFloor floor;
  const auto count = static_cast<double>(patterns().size());
  floor.nats_per_line = std::log(count);
  floor.characters_per_line = 1;
  for (const Pattern& pattern : patterns()) {
    for (const Words& words : pattern.places)
      floor.nats_per_line += std::log(static_cast<double>(words.size())) / count;
    visit_parts(
        pattern.text,
        [&](std::string_view text) { floor.characters_per_line += static_cast<double>(text.size()) / count; },
        [&](size_t place) { floor.characters_per_line += mean_length(pattern.places[place]) / count; },
        [&](size_t, size_t) { floor.characters_per_line += mean_sum_length() / count; });
  }
  return floor;
}

}  // namespace hftrain::data
