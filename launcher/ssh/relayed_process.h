// A child process whose output is passed on as it comes and which is given lines on its standard input: a
// front program on this machine, or the remote shell that leads to one.
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/file.h"
#include "launcher/process/child_process.h"
#include "launcher/process/output_router.h"

namespace hftrain::launcher {

// One thread, which must outlive the process. The destructor kills what still runs.
class RelayedProcess {
 public:
  using Sink = std::function<void(Stream, std::string_view)>;

  // `argv[0]` is looked up along PATH of `environment` unless it is a path. Throws an Error (kEnvironment)
  // when it cannot be started.
  RelayedProcess(std::vector<std::string> argv, Environment environment, Sink sink);

  void append_descriptors(std::vector<pollfd>& watched) const;
  // Passes on what is there, kReadBytes of each stream at most; after the end of the process, all the rest of
  // it.
  void read_ready();
  // The output of a process that runs is left in its pipes: whoever it is passed on to must catch up first.
  // Look again after kCatchUpSeconds.
  void hold_output(bool hold) { holds_output_ = hold; }
  static constexpr size_t kReadBytes = size_t{1} << 20;
  static constexpr double kCatchUpSeconds = 0.05;
  // Set once the process was reaped and its output passed on.
  const std::optional<ExitStatus>& status() const { return status_; }

  // To its standard input; nothing happens when it does not read any more.
  void say(const std::string& text);
  void close_input() { input_.reset(); }
  void send(int signal) { child_->send(signal); }
  void kill() { child_->kill_group(); }
  // The newest lines of its standard error, for messages.
  std::string last_words() const;

 private:
  void pass_on(FileDescriptor& from, Stream stream, bool all);

  Sink sink_;
  FileDescriptor input_;
  std::optional<ChildProcess> child_;
  FileDescriptor out_, err_;
  std::optional<ExitStatus> status_;
  bool holds_output_ = false;
  std::string error_tail_;
};

}  // namespace hftrain::launcher
