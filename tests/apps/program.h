// Runs a built program as a shell would, and lets a test watch its output while it runs.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "launcher/child_process.h"

namespace hftrain::testing {

class Program {
 public:
  explicit Program(std::vector<std::string> argv, Environment environment = Environment::of_process())
      : child_({std::move(argv), std::move(environment), {}}) {}

  // Until `text` stands in what it wrote to stderr, or it has closed it: then false.
  bool wait_for(const std::string& text) {
    while (err_.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }
  // Runs it to its end and returns its exit code; 128 + n after signal n.
  int finish() {
    while (read_more()) {
    }
    pollfd ended{child_.exit_descriptor(), POLLIN, 0};
    ::poll(&ended, 1, -1);
    const launcher::ExitStatus status = child_.reap().value();
    return status.signal != 0 ? 128 + status.signal : status.code;
  }
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  launcher::ChildProcess& child() { return child_; }

 private:
  bool read_more() {
    pollfd ready[2] = {{child_.standard_output().get(), POLLIN, 0},
                       {child_.standard_error().get(), POLLIN, 0}};
    if (ready[0].fd < 0 && ready[1].fd < 0) return false;
    ::poll(ready, 2, -1);
    if (ready[0].revents != 0) take(child_.standard_output(), out_);
    if (ready[1].revents != 0) take(child_.standard_error(), err_);
    return true;
  }
  static void take(FileDescriptor& pipe, std::string& text) {
    char buffer[4096];
    const ssize_t count = ::read(pipe.get(), buffer, sizeof(buffer));
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
    if (count == 0) pipe.reset();
  }

  launcher::ChildProcess child_;
  std::string out_;
  std::string err_;
};

}  // namespace hftrain::testing
