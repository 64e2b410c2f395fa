// One connection between two agents that know each other: messages over a socket that never blocks. The owner
// polls descriptor() for events() and calls work(). A connection that is closed, breaks, says nothing for too
// long or says what is no message is ended, with the reason in end(). One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "launcher/control/line_socket.h"
#include "launcher/control/message.h"
#include "launcher/process/own_pauses.h"

namespace hftrain::launcher {

// How long an agent of a job of so many may say nothing before it counts as lost: 8 s, and above 100 agents
// 20 ms more for each, because agent 0 reads them one after the other.
double silence_seconds(int agents);

class ControlLink {
 public:
  static constexpr double kHeartbeatSeconds = 1;
  static constexpr size_t kLongestMessage = size_t{256} << 20;  // bytes

  // Takes a connection whose greeting is over, of a job of so many agents.
  ControlLink(LineSocket socket, int agents);
  // Takes a connected socket without a greeting.
  explicit ControlLink(FileDescriptor socket, int agents = 2);
  ControlLink(ControlLink&&) = default;
  ControlLink& operator=(ControlLink&&) = default;

  bool open() const noexcept { return socket_.open(); }
  // Why it is not open, for people.
  const std::string& end() const noexcept { return socket_.end(); }
  int descriptor() const noexcept { return socket_.descriptor(); }
  bool wants_to_write() const noexcept { return socket_.wants_to_write(); }
  short events() const noexcept;
  // Bytes that the other side has not taken yet.
  size_t waiting() const noexcept { return socket_.waiting(); }

  // Reads and writes what can be without waiting, and appends the messages that are complete; heartbeats are
  // not among them.
  void work(std::vector<Message>& received);
  void send(const Message& message) {
    send_line(std::make_shared<const std::string>(encode_message(message)));
  }
  // encode_message(), done once for many.
  void send_line(std::shared_ptr<const std::string> line);
  // It has said nothing for longer than is allowed.
  bool is_silent(double now) const noexcept;
  // Sends a heartbeat when one is due, and ends the connection when the other side was silent for too long.
  // Call after work(), so that what waits to be read counts as heard, and once a second at least: silence while this program
  // itself was not run does not count.
  void tick(double now);
  double next_tick() const noexcept { return next_heartbeat_; }

  // No more will be sent; the other side still can.
  void finish_sending() { socket_.finish_sending(); }
  void limit_message(size_t bytes) noexcept { socket_.limit_line(bytes); }
  void close(std::string why) { socket_.close(std::move(why)); }

  // Numeric addresses of both ends, without the port.
  const std::string& local_address() const noexcept { return socket_.local_address(); }
  const std::string& peer_address() const noexcept { return socket_.peer_address(); }

 private:
  LineSocket socket_;
  int agents_;
  OwnPauses pauses_;
  double next_heartbeat_ = 0;
  int64_t heartbeats_ = 0;
};

}  // namespace hftrain::launcher
