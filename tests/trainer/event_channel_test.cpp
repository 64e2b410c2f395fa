#include "hftrain/trainer/event_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "hftrain/base/clock.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

struct Channel {
  Channel() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader = FileDescriptor(ends[0]);
    events.emplace(FileDescriptor(ends[1]), 0, &page);
  }
  bool has_event() const {
    pollfd wanted{reader.get(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
  }
  plan::WorkerEvent event() const {
    std::array<char, 512> text{};
    const ssize_t size = ::read(reader.get(), text.data(), text.size());
    const auto event = plan::decode_event({text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))});
    REQUIRE(event);
    return *event;
  }

  // Without its end.
  std::string line() const {
    std::string text;
    for (char byte = 0; ::read(reader.get(), &byte, 1) == 1 && byte != '\n';) text += byte;
    return text;
  }

  StatusPage page = StatusPage::make();
  FileDescriptor reader;
  std::optional<EventChannel> events;
};

}  // namespace

TEST_CASE("a long save tells that it moves, and a save beside training does not") {
  Channel channel;
  channel.events->moved(1);  // not loading, not saving
  CHECK_FALSE(channel.has_event());
  const auto [phase, name] =
      GENERATE(std::pair(WorkPhase::kSaving, "save"), std::pair(WorkPhase::kLoading, "load"),
               std::pair(WorkPhase::kWaitingForData, "data"));
  channel.events->set_phase(phase);
  channel.events->moved(1);  // a short one needs no words
  CHECK_FALSE(channel.has_event());
  int64_t moved = 1;
  while (!channel.has_event()) {
    channel.events->moved(2);
    moved += 2;
  }
  const plan::WorkerEvent event = channel.event();
  CHECK(event.kind == plan::WorkerEvent::Kind::kProgress);
  CHECK(event.data == Json{{"phase", name}, {"done", moved}, {"total", 0}});
  channel.events->moved(2);
  CHECK_FALSE(channel.has_event());  // one a second
}

TEST_CASE("of many steps the first and the last are told, and of the others at most ten a second") {
  Channel channel;
  constexpr int64_t kSteps = 300;
  const double begin = monotonic_seconds();
  for (int64_t step = 1; step <= kSteps; ++step) channel.events->step(step, kSteps);
  const double seconds = monotonic_seconds() - begin;
  std::vector<int64_t> told;
  while (channel.has_event()) {
    const std::string line = channel.line();
    const auto event = plan::decode_event(line);
    REQUIRE(event);
    CHECK(event->kind == plan::WorkerEvent::Kind::kStep);
    CHECK(event->data.at("total") == kSteps);
    told.push_back(event->data.at("step"));
  }
  CHECK(told.front() == 1);
  CHECK(told.back() == kSteps);
  CHECK(static_cast<double>(told.size()) <= 2 + 10 * seconds);
  CHECK(channel.page.read().step == kSteps);
}

TEST_CASE("what is said to a launcher that has gone away is dropped and no error") {
  ::signal(SIGPIPE, SIG_IGN);
  Channel channel;
  channel.events->message(LogLevel::kInfo, "hello");
  CHECK(channel.event().data.at("text") == "hello");
  channel.reader.reset();
  for (int i = 0; i < 2; ++i) CHECK_NOTHROW(channel.events->message(LogLevel::kInfo, "is anybody there?"));
  ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace hftrain::trainer
