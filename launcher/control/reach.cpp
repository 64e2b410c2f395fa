#include "launcher/control/reach.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"
#include "launcher/control/job_key.h"

namespace hftrain::launcher {
namespace {

constexpr size_t kAtOnce = 256;  // connections: a process may have no more than 1024 descriptors

constexpr int kPauseMilliseconds = 100;  // when no descriptor is left

// One connection on its way to a peer and its answer.
class Attempt {
 public:
  explicit Attempt(const Peer& peer) : peer_(peer) { connect(); }

  const Peer& peer() const { return peer_; }
  bool over() const { return !socket_; }
  int descriptor() const { return socket_.get(); }
  // Empty once it was reached.
  const std::string& why() const { return why_; }

  void read() {
    char buffer[512];
    while (socket_) {
      const ssize_t count = ::read(socket_.get(), buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count < 0) return end(std::strerror(errno));
      heard_.append(buffer, static_cast<size_t>(count));
      if (heard_ == peer_.answer) return end("");
      if (count == 0 || heard_.size() > peer_.answer.size()) return end("something else answers there");
    }
  }
  void end(std::string why) {
    why_ = std::move(why);
    socket_.reset();
  }

 private:
  void connect() {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(peer_.address.c_str(), std::to_string(peer_.port).c_str(), &wanted, &found) != 0) {
      why_ = "'" + peer_.address + "' is no address";
      return;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
    const std::string failure = begin_connect(*found, nullptr, socket_);
    if (!failure.empty()) end(failure);
  }

  const Peer& peer_;
  FileDescriptor socket_;
  std::string heard_, why_;
};

void try_some(std::vector<Attempt>& attempts, double timeout_seconds) {
  const double deadline = monotonic_seconds() + timeout_seconds;
  while (true) {
    std::vector<pollfd> watched;
    for (const Attempt& attempt : attempts) {
      if (!attempt.over()) watched.push_back({attempt.descriptor(), POLLIN, 0});
    }
    const double left = deadline - monotonic_seconds();
    if (watched.empty() || left <= 0) break;
    ::poll(watched.data(), watched.size(), static_cast<int>(std::ceil(left * 1000)));
    for (Attempt& attempt : attempts) attempt.read();
  }
  for (Attempt& attempt : attempts) {
    if (!attempt.over()) attempt.end("no answer in " + format_duration(timeout_seconds));
  }
}

}  // namespace

AnswerPort::AnswerPort(const std::vector<std::string>& addresses)
    : listeners_(listen_at_one_port(addresses, "a free port")),
      port_(port_of(listeners_.front().get())),
      answer_(random_number()),
      thread_([this] { serve(); }) {}

AnswerPort::~AnswerPort() {
  stop_ = true;
  for (const FileDescriptor& listener : listeners_) ::shutdown(listener.get(), SHUT_RDWR);  // wakes poll()
  thread_.join();
}

void AnswerPort::serve() const {
  while (!stop_) {
    std::vector<pollfd> ready;
    for (const FileDescriptor& listener : listeners_) ready.push_back({listener.get(), POLLIN, 0});
    ::poll(ready.data(), ready.size(), -1);
    for (const pollfd& listener : ready) {
      if (listener.revents == 0 || stop_) continue;
      const FileDescriptor socket(::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC));
      if (socket) {
        ::send(socket.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      } else if (!stop_) {
        ::poll(nullptr, 0, kPauseMilliseconds);  // whoever waits there makes the listener readable
      }
    }
  }
}

std::map<int, std::string> unreached(const std::vector<Peer>& peers, double timeout_seconds) {
  std::map<int, std::string> reasons;
  for (size_t first = 0; first < peers.size(); first += kAtOnce) {
    std::vector<Attempt> attempts;
    for (size_t i = first; i < std::min(first + kAtOnce, peers.size()); ++i) attempts.emplace_back(peers[i]);
    try_some(attempts, timeout_seconds);
    for (const Attempt& attempt : attempts) {
      if (!attempt.why().empty()) reasons[attempt.peer().agent] = attempt.why();
    }
  }
  return reasons;
}

}  // namespace hftrain::launcher
