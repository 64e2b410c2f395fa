#include "hftrain/trainer/event_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>

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
      GENERATE(std::pair(WorkPhase::kSaving, "save"), std::pair(WorkPhase::kLoading, "load"));
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

}  // namespace hftrain::trainer
