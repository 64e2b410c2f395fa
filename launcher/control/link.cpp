#include "launcher/control/link.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

constexpr double kSilenceSeconds = 8;
constexpr int kFewAgents = 100;
constexpr double kSilenceOfEachMore = 0.02;

}  // namespace

double silence_seconds(int agents) {
  return kSilenceSeconds + kSilenceOfEachMore * std::max(0, agents - kFewAgents);
}

ControlLink::ControlLink(LineSocket socket, int agents)
    : socket_(std::move(socket)), agents_(agents), pauses_(monotonic_seconds()) {
  socket_.limit_line(kLongestMessage);
  next_heartbeat_ = monotonic_seconds() + kHeartbeatSeconds;
}

ControlLink::ControlLink(FileDescriptor socket, int agents)
    : ControlLink(LineSocket(std::move(socket), kLongestMessage, silence_seconds(agents)), agents) {}

short ControlLink::events() const noexcept {
  return static_cast<short>(POLLIN | (wants_to_write() ? POLLOUT : 0));
}

void ControlLink::work(std::vector<Message>& received) {
  socket_.work();
  while (const std::optional<std::string_view> line = socket_.next_line()) {
    std::optional<Message> message = decode_message(*line);
    if (!message) return close("what it sent is no message of this program");
    if (!std::holds_alternative<Heartbeat>(*message)) received.push_back(std::move(*message));
  }
}

void ControlLink::send_line(std::shared_ptr<const std::string> line) {
  socket_.send(std::move(line));
  next_heartbeat_ = monotonic_seconds() + kHeartbeatSeconds;
}

bool ControlLink::is_silent(double now) const noexcept {
  return open() && now >= socket_.last_heard() + silence_seconds(agents_);
}

void ControlLink::tick(double now) {
  if (!open()) return;
  if (pauses_.take(now) > 0) socket_.count_as_heard(now);
  if (is_silent(now)) {
    return close("no word from it for " + format_duration(now - socket_.last_heard()) + "; " +
                 format_duration(silence_seconds(agents_)) + " are allowed in a job of " +
                 std::to_string(agents_) + " front programs");
  }
  if (now >= next_heartbeat_) send(Heartbeat{heartbeats_++});
}

}  // namespace hftrain::launcher
