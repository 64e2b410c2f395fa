#include "hftrain/base/log_level.h"

#include "support/catch.h"

namespace hftrain {
namespace {

TEST_CASE("log levels go by the words of transformers, and passive by its variable", "[base]") {
  CHECK(log_level_named("detail", LogLevel::kInfo) == LogLevel::kDebug);
  CHECK(log_level_named("ERROR", LogLevel::kInfo) == LogLevel::kError);
  CHECK(log_level_named("chatty", LogLevel::kWarning) == LogLevel::kWarning);
  for (const char* word : {"debug", "info", "warning", "error", "critical"})
    CHECK(log_level_name(log_level_named(word, LogLevel::kInfo)) == word);

  Environment quiet;
  quiet.set("TRANSFORMERS_VERBOSITY", "error");
  CHECK(wanted_log_level("passive", quiet, LogLevel::kInfo) == LogLevel::kError);
  CHECK(wanted_log_level("debug", quiet, LogLevel::kInfo) == LogLevel::kDebug);
  CHECK(wanted_log_level("passive", Environment(), LogLevel::kWarning) == LogLevel::kWarning);
}

}  // namespace
}  // namespace hftrain
