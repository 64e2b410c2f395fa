#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "metrics/metric_cases.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::metrics {

namespace {

std::string cases_of_each_kind() {
  const char* asked = std::getenv("HFTRAIN_PARITY_CASES");
  return asked ? std::to_string(std::stoi(asked)) : "60";
}

}  // namespace

TEST_CASE("random data gives what the packages give", "[parity][slow]") {
  const std::string python = testing::test_python();
  if (python.empty())
    HFTRAIN_SKIP("python3 with scikit-learn, seqeval, rouge-score, sacrebleu: set HFTRAIN_TEST_PYTHON");
  const testing::TemporaryDirectory folder;
  const std::string command = python + " " + testing::source_dir() + "/tests/metrics/live_parity.py " +
                              (folder / "cases") + " " + cases_of_each_kind() + " 2> " + (folder / "log");
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == testing::kSkipped) {
    HFTRAIN_SKIP(
        "scikit-learn, seqeval, rouge-score and sacrebleu for HFTRAIN_TEST_PYTHON: scripts/setup --tests");
  }
  REQUIRE(status == 0);
  const CaseCounts counts = compare_with_cases(folder / "cases");
  INFO(counts.first_difference.substr(0, 4000));
  CHECK(counts.differences == 0);
  int cases = 0;
  for (const auto& [kind, count] : counts.cases) {
    std::printf("%s: %d cases\n", kind.c_str(), count);
    cases += count;
  }
  CHECK(cases > 400);
  for (const char* kind :
       {"classes", "numbers", "tags", "rouge", "bleu", "questions", "exact_match", "perplexity"})
    CHECK(counts.cases.contains(kind));
}

}  // namespace hftrain::metrics
