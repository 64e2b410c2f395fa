// A program run as a shell would run it, and read while it runs: for smoke runs and for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "launcher/process/child_process.h"

namespace hftrain::launcher {

// One thread. The destructor ends a child that still runs.
class WatchedProcess {
 public:
  explicit WatchedProcess(std::vector<std::string> argv, Environment environment = Environment::of_process());

  // Reads until `text` stands in what it wrote to stderr; false when it closed its output before that.
  bool wait_for(const std::string& text);
  // Reads, and asks every millisecond, until `seen` is true; false when it closed its output before that.
  bool wait_until(const std::function<bool()>& seen);
  // Reads to the end and returns the exit code; 128 + n after signal n.
  int finish();

  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  // Processes it started itself: the workers of a run.
  std::vector<pid_t> children() const;
  ChildProcess& child() { return child_; }

 private:
  bool read_more(int milliseconds = -1);  // waits for so long; -1: without limit

  ChildProcess child_;
  std::string out_, err_;
};

}  // namespace hftrain::launcher
