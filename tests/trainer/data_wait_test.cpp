#include "hftrain/trainer/data_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hftrain::trainer {
namespace {

// A rank's voice and its status page, and what it has said.
struct WaitingRank {
  WaitingRank() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    reader = FileDescriptor(ends[0]);
    events.emplace(FileDescriptor(ends[1]), 0, &page);
    events->set_phase(WorkPhase::kTraining);
  }

  std::vector<plan::WorkerEvent> said() const {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t size = 0; (size = ::read(reader.get(), some.data(), some.size())) > 0;)
      text.append(some.data(), static_cast<size_t>(size));
    std::vector<plan::WorkerEvent> all;
    for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto event = plan::decode_event(text.substr(begin, end - begin));
      REQUIRE(event);
      all.push_back(*event);
    }
    return all;
  }

  StatusPage page = StatusPage::make();
  FileDescriptor reader;
  std::optional<EventChannel> events;
};

int64_t no_rows() {
  return 0;
}

}  // namespace

TEST_CASE("a rank that need not wait for its data is in no other phase for it") {
  WaitingRank rank;
  const bool stops = GENERATE(false, true);
  const DataWait wait(*rank.events, [&] { return stops; });
  CHECK(stops != wait.until(
                     [&] {
                       CHECK(rank.page.phase() == WorkPhase::kTraining);
                       return true;
                     },
                     no_rows));
}

TEST_CASE("a rank that waits for its data is seen to, until they come or the run is to stop") {
  WaitingRank rank;
  const bool stops = GENERATE(false, true);
  int asked = 0;
  const DataWait wait(*rank.events, [&] { return stops && asked == 3; });
  const bool came = wait.until(
      [&] {
        CHECK(rank.page.phase() == (asked == 0 ? WorkPhase::kTraining : WorkPhase::kWaitingForData));
        return ++asked == 5;
      },
      no_rows);
  CHECK(came == !stops);
  CHECK(asked == (stops ? 3 : 5));
  CHECK(rank.page.phase() == WorkPhase::kTraining);
  CHECK(rank.said().empty());
}

TEST_CASE("data that do not come are told of after a while, and again after twice as long") {
  WaitingRank rank;
  const DataWait wait(
      *rank.events, [] { return false; }, /*silent_seconds=*/0.02);
  std::vector<plan::WorkerEvent> told;
  CHECK(wait.until(
      [&] {
        ::usleep(1000);
        for (const plan::WorkerEvent& event : rank.said()) told.push_back(event);
        return told.size() == 3;
      },
      no_rows));
  for (size_t i = 0; i < told.size(); ++i) {
    CHECK(told[i].kind == plan::WorkerEvent::Kind::kMessage);
    CHECK(told[i].data.at("level") == static_cast<int>(LogLevel::kWarning));
  }
}

TEST_CASE("rows that pass while a rank waits are signs of life, and nothing is wrong then") {
  WaitingRank rank;
  const DataWait wait(
      *rank.events, [] { return false; }, /*silent_seconds=*/0.05);
  int64_t rows = 7;
  std::vector<plan::WorkerEvent> told;
  CHECK(wait.until(
      [&] {
        ::usleep(1000);
        ++rows;
        for (const plan::WorkerEvent& event : rank.said()) told.push_back(event);
        return !told.empty();
      },
      [&] { return rows; }));
  REQUIRE(told.size() == 1);
  CHECK(told[0].kind == plan::WorkerEvent::Kind::kProgress);
  CHECK(told[0].data.at("phase") == "data");
  CHECK(told[0].data.at("done") > 0);
}

}  // namespace hftrain::trainer
