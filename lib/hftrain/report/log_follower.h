// One metric of a log.jsonl that grows: what is new is read, and nothing twice.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hftrain/report/run_log.h"

namespace hftrain::report {

// Used by one thread.
class LogFollower {
 public:
  // "eval_x" is also found as "x", which a program logs outside evaluations; eval_loss is not the loss of training.
  LogFollower(std::string path, std::string metric);
  // The metric's values by ascending step, as far as whole lines reach now, or where `again` is false as they were; of a file that
  // is not there (yet) none. One that was replaced or cut is read anew. Error(kData) where it cannot be read.
  const std::vector<double>& read(bool again = true);
  // Of all metrics that the file had, as far as it was read.
  const std::set<std::string>& names() const noexcept { return names_; }
  bool has_metric() const { return names_.contains(metric_) || names_.contains(bare_); }
  // Of all calls together.
  uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  std::string path_, metric_, bare_, rest_;  // of a line that is not whole
  RunLog log_;
  std::vector<double> values_;
  std::set<std::string> names_;
  ino_t file_ = 0;
  off_t position_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace hftrain::report
