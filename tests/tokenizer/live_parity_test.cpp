#include <cstdlib>
#include <filesystem>

#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"
#include "tokenizer/golden_cases.h"
#include "tokenizer/golden_inputs.h"

namespace hftrain::tokenizer {
namespace {

// What the environment says, for whoever wants more texts than a test run has time for.
std::string chosen(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

}  // namespace

TEST_CASE("random texts and every BMP code point give what the package gives", "[parity][slow]") {
  const std::string python = testing::test_python();
  if (python.empty()) HFTRAIN_SKIP("python3 with the tokenizers package: set HFTRAIN_TEST_PYTHON");
  const testing::TemporaryDirectory folder;
  const std::string command = python + " " + testing::source_dir() + "/tests/tokenizer/live_parity.py " +
                              folder.path() + " " + chosen("HFTRAIN_PARITY_TEXTS", "80") + " " +
                              chosen("HFTRAIN_PARITY_PIPELINES", "") + " 2> " + (folder / "log");
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
  CHECK(cases > 1000);
}

}  // namespace hftrain::tokenizer
