#include "launcher/process/output_router.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

struct Fixture {
  hftrain::testing::TemporaryDirectory folder;
  std::vector<std::string> shown;
  std::vector<std::string> notices;

  OutputRouter router(const OutputFilter& filter, std::vector<int> ranks = {0, 1}) {
    return OutputRouter(
        {folder.path(), filter}, std::move(ranks),
        [this](const OutputLine& line) { shown.push_back(std::to_string(line.rank) + ": " + line.text); },
        [this](const std::string& text) { notices.push_back(text); });
  }
};

}  // namespace

TEST_CASE("files hold the bytes as they came, the console whole lines") {
  Fixture fixture;
  OutputRouter router = fixture.router(OutputFilter("all", "0"));
  router.write(0, Stream::kOut, "one\ntw");
  router.write(1, Stream::kOut, "other\n");
  router.write(0, Stream::kOut, "o\nlast");
  CHECK(fixture.shown == std::vector<std::string>{"0: one", "1: other", "0: two"});
  router.finish(0, Stream::kOut);
  CHECK(fixture.shown.back() == "0: last");
  router.drain();
  CHECK(read_file(router.log_path(0, Stream::kOut)) == "one\ntwo\nlast");
  CHECK(read_file(router.log_path(1, Stream::kOut)) == "other\n");
  CHECK(read_file(router.log_path(0, Stream::kErr)).empty());
}

TEST_CASE("of a redrawn line only its last state is shown, the file keeps all") {
  Fixture fixture;
  OutputRouter router = fixture.router(OutputFilter("0", "0"));
  router.write(0, Stream::kErr, "10%\r50%\r100%\ndone\r\n");
  CHECK(fixture.shown == std::vector<std::string>{"0: 100%", "0: done"});
  router.drain();
  CHECK(read_file(router.log_path(0, Stream::kErr)) == "10%\r50%\r100%\ndone\r\n");
}

TEST_CASE("a line without end is shown in pieces and held in bounded memory") {
  Fixture fixture;
  OutputRouter router = fixture.router(OutputFilter("0", "0"));
  router.write(0, Stream::kOut, std::string(2 * OutputRouter::kLongestLine + 5, 'x'));
  CHECK(fixture.shown.size() == 2);
  router.write(0, Stream::kOut, "\n");
  REQUIRE(fixture.shown.size() == 3);
  CHECK(fixture.shown[2] == "0: xxxxx");
}

TEST_CASE("a line of exactly the longest length is one line") {
  Fixture fixture;
  OutputRouter router = fixture.router(OutputFilter("0", "0"));
  router.write(0, Stream::kOut, std::string(OutputRouter::kLongestLine, 'x') + "\nnext\n");
  REQUIRE(fixture.shown.size() == 2);
  CHECK(fixture.shown[1] == "0: next");
}

TEST_CASE("what a rank says by events stands in its log and in the common file, and is not shown again") {
  Fixture fixture;
  OutputSpec spec{fixture.folder.path(), OutputFilter("all", "0"), {{Stream::kErr, {"loss"}}}};
  spec.words = [](const plan::WorkerEvent& event) { return event.data.value("text", ""); };
  OutputRouter router(
      std::move(spec), {0, 1}, [&](const OutputLine& line) { fixture.shown.push_back(line.text); },
      [](const std::string&) {});
  const auto say = [&](int rank, const char* text) {
    router.hear({plan::WorkerEvent::Kind::kMessage, rank, 0, {{"text", text}}});
  };
  say(0, "a header\nof two lines\n");
  router.write(0, Stream::kErr, "50%");
  say(0, "{'loss': '1'}\n");
  say(0, "");
  say(0, "and more\n");
  say(1, "its own\n");
  router.write(0, Stream::kErr, " 100%\n");
  router.finish(0, Stream::kErr);
  say(0, "too late\n");
  router.drain();
  CHECK(read_file(router.log_path(0, Stream::kErr)) ==
        "a header\nof two lines\n50%\n{'loss': '1'}\nand more\n 100%\n");
  CHECK(read_file(router.log_path(1, Stream::kErr)) == "its own\n");
  CHECK(read_file(router.duplicate_path(Stream::kErr)) == "[rank 0] {'loss': '1'}\n");
  CHECK(fixture.shown == std::vector<std::string>{"50% 100%"});
  CHECK(router.last_lines(0).size() == 1);
}

TEST_CASE("the last lines of a rank are kept whether shown or not") {
  Fixture fixture;
  OutputRouter router = fixture.router(OutputFilter("", "0"));
  for (int i = 0; i < 25; ++i)
    router.write(1, i % 2 == 0 ? Stream::kOut : Stream::kErr, std::to_string(i) + "\n");
  CHECK(fixture.shown.empty());
  const std::vector<std::string> lines = router.last_lines(1);
  REQUIRE(lines.size() == OutputRouter::kKeptLines);
  CHECK(lines.front() == "5");
  CHECK(lines.back() == "24");
  CHECK(router.last_lines(0).empty());
}

TEST_CASE("the filter shows the ranks named, and the streams that tee names") {
  CHECK(OutputFilter("0", "0").shows(0, Stream::kErr));
  CHECK_FALSE(OutputFilter("0", "0").shows(1, Stream::kErr));
  CHECK(OutputFilter("0, 2", "0").shows(2, Stream::kOut));
  CHECK(OutputFilter("all", "0").shows(7, Stream::kOut));
  CHECK(OutputFilter("0", "2").shows(1, Stream::kErr));
  CHECK_FALSE(OutputFilter("0", "2").shows(1, Stream::kOut));
  CHECK(OutputFilter("0", "1:3,2:1").shows(1, Stream::kErr));
  CHECK(OutputFilter("0", "1:3,2:1").shows(2, Stream::kOut));
  CHECK_FALSE(OutputFilter("0", "1:3,2:1").shows(2, Stream::kErr));
  CHECK_FALSE(OutputFilter("0", "1:3,2:1").shows(3, Stream::kOut));
  CHECK_FALSE(OutputFilter("all", "0", "1").shows(0, Stream::kOut));
  CHECK(OutputFilter("all", "0", "1").shows(0, Stream::kErr));
  CHECK_FALSE(OutputFilter("all", "0", "0:3").shows(0, Stream::kErr));
  CHECK(OutputFilter("all", "0", "0:3").shows(1, Stream::kErr));
  CHECK(OutputFilter("0", "2", "3").shows(0, Stream::kErr));
}

TEST_CASE("a filter that cannot be read is a usage error that names its flag") {
  const auto where_of = [](const std::string& ranks, const std::string& tee) {
    try {
      OutputFilter(ranks, tee);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return error.diagnostics().front().where;
    }
    return std::string();
  };
  for (const char* bad : {"x", "0,", "-1", "1-3", "0;1"}) CHECK(where_of(bad, "0") == "--log_ranks");
  for (const char* bad : {"", "4", "x", "0:", ":3", "0:4", "0:1:2", "0:3,", "-1"})
    CHECK(where_of("0", bad) == "--tee");
}

TEST_CASE("a folder that does not answer holds up neither output nor its owner", "[slow]") {
  Fixture fixture;
  create_directories(fixture.folder / "0");
  const std::string path = fixture.folder / "0/stdout.log";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);  // to open it for writing takes until somebody reads
  const double begin = monotonic_seconds();
  OutputRouter router = fixture.router(OutputFilter("0", "0"), {0});
  for (int i = 0; i < 100; ++i) router.write(0, Stream::kOut, std::to_string(i) + '\n');
  CHECK(fixture.shown.size() == 100);
  router.drain();
  CHECK(monotonic_seconds() - begin < 60);
  REQUIRE(fixture.notices.size() == 1);
  CHECK(fixture.notices[0].find("still being written") != std::string::npos);
  const FileDescriptor reader(::open(path.c_str(), O_RDONLY));
  router.drain();
  char buffer[1024];
  CHECK(::read(reader.get(), buffer, sizeof buffer) == 290);  // ten numbers of one digit, ninety of two
  router.write(0, Stream::kOut, std::string(LogWriter::kMostWaiting, 'x'));
  CHECK(router.is_behind());  // nobody reads it
}

TEST_CASE("a log that cannot be written is given up with one notice and the lines still come") {
  if (!path_exists("/dev/full")) FAIL("no /dev/full");
  Fixture fixture;
  create_directories(fixture.folder / "0");
  REQUIRE(::symlink("/dev/full", (fixture.folder / "0/stdout.log").c_str()) == 0);
  OutputRouter router = fixture.router(OutputFilter("0", "0"), {0});
  router.write(0, Stream::kOut, "one\n");
  router.write(0, Stream::kOut, "two\n");
  router.drain();
  CHECK(fixture.notices.size() == 1);
  CHECK(fixture.shown == std::vector<std::string>{"0: one", "0: two"});
}

TEST_CASE("of ranks that are not kept nothing is shown, whatever else names them") {
  OutputFilter filter("all", "0:3,1:1");
  filter.keep_only({1, 2});
  CHECK_FALSE(filter.shows(0, Stream::kOut));
  CHECK(filter.shows(1, Stream::kErr));
  CHECK(filter.shows(2, Stream::kOut));
}

TEST_CASE("lines with one of the named texts go to a file for all ranks, too") {
  Fixture fixture;
  OutputSpec spec{fixture.folder.path(), OutputFilter("", "0"), {{Stream::kErr, {"NCCL", "loss"}}}, ".node1"};
  OutputRouter router(
      std::move(spec), {0, 1}, [](const OutputLine&) {}, [](const std::string&) {});
  router.write(1, Stream::kErr, "a loss of 3\nnothing\n");
  router.write(0, Stream::kErr, "NCCL WARN\n");
  router.write(0, Stream::kOut, "a loss of 4\n");
  router.drain();
  CHECK(read_file(fixture.folder / "filtered_stderr.node1.log") ==
        "[rank 1] a loss of 3\n[rank 0] NCCL WARN\n");
  CHECK_FALSE(path_exists(fixture.folder / "filtered_stdout.node1.log"));
}

}  // namespace hftrain::launcher
