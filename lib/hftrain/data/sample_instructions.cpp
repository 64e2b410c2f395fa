#include "hftrain/data/sample_instructions.h"

#include <algorithm>
#include <string_view>

#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

constexpr uint64_t kLargest = 30;
constexpr std::string_view kAsked[] = {"apple",  "river", "candle", "owl",
                                       "window", "stone", "letter", "boat"};

struct Exchange {
  std::string question, answer;
};

Exchange draw_sum(SplitMix64& random) {
  const uint64_t a = random.below(kLargest), b = random.below(kLargest);
  return {"What is " + std::to_string(a) + " plus " + std::to_string(b) + "?",
          "It is " + std::to_string(a + b) + "."};
}

Exchange draw_order(SplitMix64& random) {
  const uint64_t a = random.below(kLargest), b = random.below(kLargest);
  return {"Which is larger, " + std::to_string(a) + " or " + std::to_string(b) + "?",
          a == b ? "They are the same." : std::to_string(std::max(a, b)) + " is larger."};
}

Exchange draw_first_letter(SplitMix64& random) {
  const std::string word(kAsked[random.below(std::size(kAsked))]);
  return {"Which letter does " + word + " begin with?", "It begins with " + word.substr(0, 1) + "."};
}

std::string draw_conversation(SplitMix64& random) {
  constexpr Exchange (*kDraws[])(SplitMix64&) = {draw_sum, draw_order, draw_first_letter};
  const Exchange said = kDraws[random.below(std::size(kDraws))](random);
  return R"({"messages": [{"role": "user", "content": ")" + said.question +
         R"("}, {"role": "assistant", "content": ")" + said.answer + "\"}]}\n";
}

}  // namespace

std::string sample_instructions(uint64_t seed, int64_t bytes) {
  SplitMix64 random(seed);
  std::string rows = draw_conversation(random);
  while (true) {
    const std::string row = draw_conversation(random);
    if (static_cast<int64_t>(rows.size() + row.size()) > bytes) return rows;
    rows += row;
  }
}

}  // namespace hftrain::data
