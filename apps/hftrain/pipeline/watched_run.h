// A run of this program as a child, watched through what it says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "launcher/child_process.h"

namespace hftrain::app {

class WatchedRun {
 public:
  WatchedRun(std::vector<std::string> argv, Environment environment);

  // Reads until `text` has been said on stderr; false when the run said all it had before that.
  bool wait_for(const std::string& text);
  // Reads to the end and returns the exit code; 128 + n after signal n.
  int finish();
  // Processes it started directly: the workers of a run.
  std::vector<pid_t> children() const;
  const std::string& said() const { return said_; }

 private:
  bool read_more();

  launcher::ChildProcess process_;
  std::string said_;  // stderr
};

}  // namespace hftrain::app
