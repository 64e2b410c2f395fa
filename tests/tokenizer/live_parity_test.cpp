#include <cstdlib>
#include <filesystem>

#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"
#include "tokenizer/golden_cases.h"
#include "tokenizer/golden_inputs.h"

namespace hftrain::tokenizer {

TEST_CASE("random texts and every BMP code point give what the package gives", "[parity][slow]") {
  const std::string python = testing::test_python();
  if (python.empty()) HFTRAIN_SKIP("python3 with the tokenizers package: set HFTRAIN_TEST_PYTHON");
  constexpr const char* kTextsPerPipeline = " 200";  // 10,000 give the same answer and take twenty minutes
  const testing::TemporaryDirectory folder;
  const std::string command = python + " " + testing::source_dir() + "/tests/tokenizer/live_parity.py " +
                              folder.path() + kTextsPerPipeline + " 2> " + (folder / "log");
  REQUIRE(std::system(command.c_str()) == 0);
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (!entry.is_directory()) continue;
    const Comparison result = compare_with_cases(entry.path().string());
    INFO(entry.path().filename().string() << ": " << result.first_difference.substr(0, 4000));
    CHECK(result.differences == 0);
    const Comparison inputs = compare_with_inputs(entry.path().string());
    INFO(inputs.first_difference.substr(0, 4000));
    CHECK(inputs.differences == 0);
    cases += result.cases + inputs.cases;
  }
  CHECK(cases > 4000);
}

}  // namespace hftrain::tokenizer
