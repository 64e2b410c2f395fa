#include "hftrain/data/sample_questions.h"

#include <array>
#include <span>
#include <string_view>

#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

using Choices = std::span<const std::string_view>;

constexpr std::string_view kDays[] = {"Monday", "Tuesday", "Thursday", "Friday", "Sunday"};
constexpr std::string_view kFinders[] = {"Ada", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo"};
constexpr std::string_view kAmounts[] = {"two", "three", "five", "seven", "nine", "twelve"};
constexpr std::string_view kFinds[] = {"apples", "stones", "letters", "coins", "feathers", "candles"};
constexpr std::string_view kAnswerPlaces[] = {"by the river", "in the barn", "near the bridge",
                                              "under the oak", "on the hill"};
constexpr std::string_view kWeather[] = {"It was cold.", "A wind blew.", "Rain fell.", "The sky was grey.",
                                         "It was late."};

// What stands before each part of the find, the part, and the question that asks for it.
struct FindPart {
  std::string_view before;
  Choices words;
  std::string_view question;
};
constexpr std::array<FindPart, 5> kFindParts = {{{"On ", kDays, "When was it?"},
                                                 {" ", kFinders, "Who found something?"},
                                                 {" found ", kAmounts, "How many were there?"},
                                                 {" ", kFinds, "What was found?"},
                                                 {" ", kAnswerPlaces, "Where was it?"}}};

std::string draw_weather(SplitMix64& random) {
  constexpr uint64_t kMostSentences = 2;
  std::string text;
  for (uint64_t left = random.below(kMostSentences + 1); left > 0; --left) {
    text += kWeather[random.below(std::size(kWeather))];
    text += ' ';
  }
  return text;
}

std::string draw_question(SplitMix64& random, int64_t number) {
  std::string context = draw_weather(random);
  const size_t asked = random.below(kFindParts.size());
  std::string_view answer;
  size_t start = 0;
  for (size_t i = 0; i < kFindParts.size(); ++i) {
    const FindPart& part = kFindParts[i];
    const std::string_view word = part.words[random.below(part.words.size())];
    context += part.before;
    if (i == asked) answer = word, start = context.size();
    context += word;
  }
  context += ". " + draw_weather(random);
  context.pop_back();
  return R"({"id": "q)" + std::to_string(number) + R"(", "question": ")" +
         std::string(kFindParts[asked].question) + R"(", "context": ")" + context +
         R"(", "answers": {"text": [")" + std::string(answer) + R"("], "answer_start": [)" +
         std::to_string(start) + "]}}\n";
}

}  // namespace

std::string sample_questions(uint64_t seed, int64_t bytes) {
  SplitMix64 random(seed);
  std::string rows = draw_question(random, 0);
  for (int64_t number = 1;; ++number) {
    const std::string row = draw_question(random, number);
    if (static_cast<int64_t>(rows.size() + row.size()) > bytes) return rows;
    rows += row;
  }
}

}  // namespace hftrain::data
