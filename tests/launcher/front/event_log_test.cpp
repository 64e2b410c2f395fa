#include "launcher/front/event_log.h"

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {

TEST_CASE("a failure is told with the last update of its rank, where that had finished one") {
  using Kind = plan::WorkerEvent::Kind;
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "events.jsonl";
  EventLog log(path, 0);
  Json failure = {{"exit_code", 6}, {"what", "no memory"}, {"why", "none is left"}, {"step", 7}};
  // Not every update is told while it goes on.
  log.on_event({Kind::kStep, 1, 100, {{"step", 6}, {"total", 9}}});
  log.on_event({Kind::kFailed, 1, 102, failure});
  failure.erase("step");
  log.on_event({Kind::kFailed, 0, 103, failure});
  CHECK(log.end({}, 3).empty());
  const std::vector<std::string> lines = split(read_file(path), '\n');
  REQUIRE(lines.size() > 2);
  CHECK(parse_json(lines[0], path) == Json({{"event", "failed"},
                                            {"time", 102},
                                            {"rank", 1},
                                            {"what", "no memory"},
                                            {"why", "none is left"},
                                            {"step", 7}}));
  CHECK_FALSE(parse_json(lines[1], path).contains("step"));
}

}  // namespace hftrain::front
