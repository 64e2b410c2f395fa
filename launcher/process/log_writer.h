// Appends to files in a thread of its own, so that a file system that takes its time, as a shared folder may,
// holds nobody up who has other things to do. What waits to be written is bounded: its owner asks is_behind()
// before it takes in more. One owner.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::launcher {

class LogWriter {
 public:
  static constexpr size_t kMostWaiting = size_t{16} << 20;  // bytes

  // Begins to open the files for appending, making their folders. Throws an Error (kEnvironment) when the
  // system starts no thread.
  explicit LogWriter(std::vector<std::string> paths);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  // Does not wait: see drain().
  ~LogWriter();

  // Returns when all files are open, or `seconds` are over. Throws the Error of the one that cannot be
  // opened.
  void wait_until_open(double seconds);
  // `file` is the place of its path. A file that cannot be written, or was not to be opened after that time,
  // is given up with one notice.
  void append(size_t file, std::string_view bytes);
  void close(size_t file);
  bool is_behind() const;
  // What went wrong since the last call, for people.
  std::vector<std::string> take_notices();
  // Waits until all is written, at most `seconds`. False when it is not; it still is being written then.
  bool drain(double seconds);

 private:
  struct State;
  std::shared_ptr<State>
      state_;  // the thread's too, which may outlive this object in a call that does not end
};

}  // namespace hftrain::launcher
