#include "launcher/control/link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"

namespace hftrain::launcher {
namespace {

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

// The kernel answers for an agent that is busy, and notices a machine or network that is gone even when
// nobody here has a moment to look.
void watch_by_kernel(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(ControlLink::kSilenceSeconds * 1000));
}

}  // namespace

ControlLink::ControlLink(FileDescriptor socket)
    : socket_(std::move(socket)),
      local_(local_address_of(socket_.get())),
      peer_(peer_address_of(socket_.get())) {
  watch_by_kernel(socket_.get());
  last_heard_ = monotonic_seconds();
  next_heartbeat_ = last_heard_ + kHeartbeatSeconds;
}

short ControlLink::events() const noexcept {
  return static_cast<short>(POLLIN | (outgoing_.empty() ? 0 : POLLOUT));
}

void ControlLink::work(std::vector<Message>& received) {
  if (!open()) return;
  write_some();
  read_all();
  size_t start = 0;
  for (size_t end; (end = incoming_.find('\n', start)) != std::string::npos; start = end + 1) {
    auto message = decode_message(std::string_view(incoming_).substr(start, end - start));
    if (!message) return close("what it sent is no message of this program");
    if (!std::holds_alternative<Heartbeat>(*message)) received.push_back(std::move(*message));
  }
  incoming_.erase(0, start);
  if (open() && incoming_.size() > longest_) close("what it sent is no message of this program");
}

void ControlLink::read_all() {
  char buffer[64 * 1024];
  while (open()) {
    const ssize_t count = ::read(socket_.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return close(std::string("the connection broke (") + std::strerror(errno) + ")");
    if (count == 0) return close("it closed the connection");
    incoming_.append(buffer, static_cast<size_t>(count));
    last_heard_ = monotonic_seconds();
    if (incoming_.size() > longest_) return;
  }
}

void ControlLink::write_some() {
  while (open() && !outgoing_.empty()) {
    const ssize_t count = ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    // What the other side said before it went is still to be read: reading finds the end.
    if (count < 0) return outgoing_.clear();
    outgoing_.erase(0, static_cast<size_t>(count));
  }
  if (open() && finishing_ && outgoing_.empty()) ::shutdown(socket_.get(), SHUT_WR);
}

void ControlLink::send(const Message& message) {
  if (!open() || finishing_) return;
  outgoing_ += encode_message(message);
  next_heartbeat_ = monotonic_seconds() + kHeartbeatSeconds;
  write_some();
}

void ControlLink::tick(double now) {
  if (!open()) return;
  if (now >= last_heard_ + kSilenceSeconds) {
    return close("no word from it for " + format_duration(now - last_heard_));
  }
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + kHeartbeatSeconds;
  send(Heartbeat{heartbeats_++});
}

void ControlLink::finish_sending() {
  finishing_ = true;
  write_some();
}

void ControlLink::close(std::string why) {
  if (!open()) return;
  end_ = std::move(why);
  socket_.reset();
}

}  // namespace hftrain::launcher
