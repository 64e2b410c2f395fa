#include "launcher/control/line_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hftrain/base/clock.h"
#include "launcher/control/addresses.h"

namespace hftrain::launcher {
namespace {

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

// The kernel answers for an agent that is busy, and notices a machine or network that is gone even when
// nobody here has a moment to look.
void watch_by_kernel(int socket, double silence_seconds) {
  constexpr int kProbes = 3;
  const int seconds = static_cast<int>(silence_seconds / (kProbes + 1));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence_seconds * 1000));
}

}  // namespace

LineSocket::LineSocket(FileDescriptor socket, size_t longest_line, double silence_seconds)
    : socket_(std::move(socket)),
      local_(local_address_of(socket_.get())),
      peer_(peer_address_of(socket_.get())),
      longest_(longest_line),
      last_heard_(monotonic_seconds()) {
  watch_by_kernel(socket_.get(), silence_seconds);
}

void LineSocket::work() {
  if (!open()) return;
  write_some();
  read_some();
}

bool LineSocket::overlong() const {
  return std::min(incoming_.find('\n', taken_), incoming_.size()) - taken_ > longest_;
}

std::optional<std::string_view> LineSocket::next_line() {
  if (overlong()) {
    close("what it sent is longer than anything that this program says");
    incoming_.clear();
    taken_ = 0;
    return std::nullopt;
  }
  const size_t end = incoming_.find('\n', taken_);
  if (end == std::string::npos) {
    incoming_.erase(0, taken_);
    taken_ = 0;
    return std::nullopt;
  }
  const std::string_view line = std::string_view(incoming_).substr(taken_, end - taken_);
  taken_ = end + 1;
  return line;
}

void LineSocket::read_some() {
  char buffer[64 * 1024];
  for (size_t total = 0; open() && total < kAtOnce;) {
    const ssize_t count = ::read(socket_.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return close(std::string("the connection broke (") + std::strerror(errno) + ")");
    if (count == 0) return close("it closed the connection");
    incoming_.append(buffer, static_cast<size_t>(count));
    total += static_cast<size_t>(count);
    last_heard_ = monotonic_seconds();
    if (incoming_.size() - taken_ > longest_) return;
  }
}

void LineSocket::write_some() {
  while (open() && !outgoing_.empty()) {
    const std::string_view left = std::string_view(*outgoing_.front()).substr(sent_);
    const ssize_t count = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {
      // What the other side said before it went is still to be read: reading finds the end.
      outgoing_.clear();
      waiting_ = 0;
      return;
    }
    sent_ += static_cast<size_t>(count);
    if (sent_ < outgoing_.front()->size()) continue;
    waiting_ -= sent_;
    outgoing_.pop_front();
    sent_ = 0;
  }
  if (open() && finishing_ && outgoing_.empty()) ::shutdown(socket_.get(), SHUT_WR);
}

void LineSocket::send(std::shared_ptr<const std::string> line) {
  if (!open() || finishing_) return;
  waiting_ += line->size();
  outgoing_.push_back(std::move(line));
  write_some();
}

void LineSocket::finish_sending() {
  finishing_ = true;
  write_some();
}

void LineSocket::close(std::string why) {
  if (!open()) return;
  end_ = std::move(why);
  socket_.reset();
}

}  // namespace hftrain::launcher
