// Lines over a connected socket that never blocks. The owner polls descriptor(), for POLLOUT too while
// wants_to_write(), and calls work(); what cannot be written at once is kept and written then. A connection
// that is closed, breaks, or sends a line that is too long is ended, with the reason in end(). One thread.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hftrain/base/file.h"

namespace hftrain::launcher {

class LineSocket {
 public:
  // Bytes that one work() reads: a neighbour with much to say must not keep the owner from the others.
  static constexpr size_t kAtOnce = size_t{1} << 20;

  // Takes a connected socket. The kernel itself gives it up after `silence_seconds` without an answer.
  LineSocket(FileDescriptor socket, size_t longest_line, double silence_seconds);
  LineSocket(LineSocket&&) = default;
  LineSocket& operator=(LineSocket&&) = default;

  bool open() const noexcept { return static_cast<bool>(socket_); }
  // Why it is not open, for people.
  const std::string& end() const noexcept { return end_; }
  int descriptor() const noexcept { return socket_.get(); }
  bool wants_to_write() const noexcept { return !outgoing_.empty(); }
  // Bytes that the other side has not taken yet and still may.
  size_t waiting() const noexcept { return open() ? waiting_ : 0; }

  // Reads and writes what can be without waiting.
  void work();
  // The oldest complete line that was not taken yet, without its newline; valid until the next call of work()
  // or next_line(). Lines that came before the end of a connection are still there after it.
  std::optional<std::string_view> next_line();
  // Whether next_line() would find one that is too long, whole or not, and end the connection.
  bool overlong() const;
  // With its newline. Lines that go to many are kept once.
  void send(std::shared_ptr<const std::string> line);
  void send(std::string line) { send(std::make_shared<const std::string>(std::move(line))); }

  // No more will be sent; the other side still can.
  void finish_sending();
  bool finishing() const noexcept { return finishing_; }
  void limit_line(size_t bytes) noexcept { longest_ = bytes; }
  void close(std::string why);

  // Monotonic seconds of the newest byte from the other side, or of the beginning.
  double last_heard() const noexcept { return last_heard_; }
  void count_as_heard(double now) noexcept { last_heard_ = std::max(last_heard_, now); }
  // Numeric addresses of both ends, without the port.
  const std::string& local_address() const noexcept { return local_; }
  const std::string& peer_address() const noexcept { return peer_; }

 private:
  void read_some();
  void write_some();

  FileDescriptor socket_;
  std::string end_;
  std::string local_, peer_;
  std::string incoming_;
  size_t taken_ = 0;  // bytes of incoming_ that were taken as lines
  std::deque<std::shared_ptr<const std::string>> outgoing_;
  size_t sent_ = 0;     // bytes of the first of them
  size_t waiting_ = 0;  // bytes of all of them
  size_t longest_;
  double last_heard_ = 0;
  bool finishing_ = false;
};

}  // namespace hftrain::launcher
