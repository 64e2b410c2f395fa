// One connection between two agents: messages over a socket that never blocks. The owner polls descriptor()
// for events() and calls work(); what cannot be written at once is kept and written then. A connection that
// is closed, breaks, says nothing for kSilenceSeconds or says what is no message is ended, with the reason in
// end(). One thread.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "launcher/control/message.h"

namespace hftrain::launcher {

class ControlLink {
 public:
  static constexpr double kHeartbeatSeconds = 1;
  static constexpr double kSilenceSeconds = 8;
  static constexpr size_t kLongestMessage = size_t{256} << 20;  // bytes
  // Of a connection that has not said yet who it is.
  static constexpr size_t kLongestHello = size_t{64} << 10;

  // Takes a connected socket.
  explicit ControlLink(FileDescriptor socket);
  ControlLink(ControlLink&&) = default;
  ControlLink& operator=(ControlLink&&) = default;

  bool open() const noexcept { return static_cast<bool>(socket_); }
  // Why it is not open, for people.
  const std::string& end() const noexcept { return end_; }
  int descriptor() const noexcept { return socket_.get(); }
  short events() const noexcept;

  // Reads and writes what can be without waiting, and appends the messages that are complete; heartbeats are
  // not among them.
  void work(std::vector<Message>& received);
  void send(const Message& message);
  // Sends a heartbeat when one is due, and ends the connection when the other side was silent for too long.
  // Call after work(), so that what waits to be read counts as heard.
  void tick(double now);
  double next_tick() const noexcept { return next_heartbeat_; }

  // No more will be sent; the other side still can.
  void finish_sending();
  bool all_sent() const noexcept { return outgoing_.empty(); }
  void limit_message(size_t bytes) noexcept { longest_ = bytes; }
  void close(std::string why);

  // Numeric addresses of both ends, without the port.
  const std::string& local_address() const noexcept { return local_; }
  const std::string& peer_address() const noexcept { return peer_; }

 private:
  void read_all();
  void write_some();

  FileDescriptor socket_;
  std::string end_;
  std::string local_, peer_;
  std::string incoming_, outgoing_;
  size_t longest_ = kLongestMessage;
  double last_heard_ = 0;
  double next_heartbeat_ = 0;
  int64_t heartbeats_ = 0;
  bool finishing_ = false;
};

}  // namespace hftrain::launcher
