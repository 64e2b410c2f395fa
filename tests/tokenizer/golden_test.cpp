#include <filesystem>

#include "support/catch.h"
#include "support/paths.h"
#include "tokenizer/golden_cases.h"
#include "tokenizer/golden_inputs.h"

namespace hftrain::tokenizer {

TEST_CASE("every pipeline gives the ids, tokens, offsets and texts of the tokenizers package") {
  int folders = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() + "/tests/golden/tokenizer")) {
    if (!std::filesystem::exists(entry.path() / "cases.jsonl")) continue;
    ++folders;
    const Comparison result = compare_with_cases(entry.path().string());
    INFO(entry.path().filename().string() << ": " << result.first_difference);
    CHECK(result.differences == 0);
    CHECK(result.cases > 50);
  }
  CHECK(folders >= 27);
}

TEST_CASE("pairs, words, windows and padding come out as in the tokenizers package") {
  int folders = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() + "/tests/golden/tokenizer")) {
    if (!std::filesystem::exists(entry.path() / "inputs.jsonl")) continue;
    ++folders;
    const Comparison result = compare_with_inputs(entry.path().string());
    INFO(entry.path().filename().string() << ": " << result.first_difference);
    CHECK(result.differences == 0);
    CHECK(result.cases > 10);
  }
  CHECK(folders >= 20);
}

}  // namespace hftrain::tokenizer
