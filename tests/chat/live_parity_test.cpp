#include <sys/wait.h>

#include <cstdlib>

#include "chat/chat_cases.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::chat {

// HFTRAIN_PARITY_TEMPLATES and HFTRAIN_PARITY_SEED ask for more, and for others.
TEST_CASE("random templates become what transformers makes of them", "[parity]") {
  const std::string python = testing::test_python();
  if (python.empty()) HFTRAIN_SKIP("python3 with transformers: set HFTRAIN_TEST_PYTHON");
  const char* asked = std::getenv("HFTRAIN_PARITY_TEMPLATES");
  const char* seed = std::getenv("HFTRAIN_PARITY_SEED");
  const testing::TemporaryDirectory folder;
  const std::string command = python + " " + testing::source_dir() + "/tests/chat/live_parity.py " +
                              (folder / "cases") + " " + (asked == nullptr ? "600" : asked) + " " +
                              (seed == nullptr ? "1" : seed) + " 2> " + (folder / "log");
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == testing::kSkipped)
    HFTRAIN_SKIP("transformers for HFTRAIN_TEST_PYTHON: scripts/setup --tests");
  REQUIRE(status == 0);
  const CaseCounts counts = compare_with_cases(folder / "cases");
  INFO(counts.first_differences);
  INFO(counts.cases << " cases, " << counts.errors << " refused by the package, " << counts.differences
                    << " different");
  CHECK(counts.differences == 0);
  CHECK(counts.cases > 100);
}

}  // namespace hftrain::chat
