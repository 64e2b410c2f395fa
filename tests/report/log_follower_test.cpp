#include "hftrain/report/log_follower.h"

#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::report {
namespace {

using testing::TemporaryDirectory;
using Values = std::vector<double>;

TEST_CASE("a log that grows is read once, by whole lines", "[report]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "log.jsonl";
  LogFollower follower(path, "eval_loss");
  CHECK(follower.read().empty());
  append_to_file(path, "{\"step\": 1, \"loss\": 9}\n{\"step\": 2, \"eval_loss\": 3}\n{\"step\": 4, \"eval");
  CHECK(follower.read() == Values{3});
  append_to_file(path, "_loss\": 2}\n");
  CHECK(follower.read(false) == Values{3});
  CHECK(follower.read() == Values{3, 2});
  append_to_file(
      path, "{\"step\": 3, \"loss\": 8}\n{\"step\": 4, \"eval_loss\": 1}\n");  // gone on with from step 2
  CHECK(follower.read() == Values{3, 1});
  for (int i = 0; i < 10; ++i) CHECK(follower.read().size() == 2);
  CHECK(follower.names() == std::set<std::string>{"eval_loss", "loss"});
  CHECK(follower.bytes_read() == read_file(path).size());
}

TEST_CASE("a log that is a pipe is refused, and not waited for", "[report]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "log.jsonl";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  LogFollower follower(path, "x");
  CHECK_REFUSED(follower.read(), "a file of the run is no regular file");
}

TEST_CASE("a log that is another file, or was cut, is read anew", "[report]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "log.jsonl";
  LogFollower follower(path, "x");
  write_file_atomically(path, "{\"step\": 1, \"x\": 1}\n{\"step\": 2, \"x\": 2}\n");
  CHECK(follower.read() == Values{1, 2});
  write_file_atomically(path, "{\"step\": 1, \"x\": 7}\n");
  CHECK(follower.read() == Values{7});
  CHECK(follower.names() == std::set<std::string>{"x"});
  write_file_atomically(path, "{\"step\": 1, \"y\": 1}\n");
  CHECK(follower.read().empty());
  CHECK(follower.names() == std::set<std::string>{"y"});
}

}  // namespace
}  // namespace hftrain::report
