// The records of a run, hftrain/log.jsonl, as one series per metric.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::report {

struct Point {
  double step = 0;
  double value = 0;  // may be NaN or infinite, as the run logged it
  double time = 0;   // Unix seconds; 0: the record did not say
};

// Steps ascend, each once.
using Series = std::vector<Point>;

struct RunLog {
  std::map<std::string, Series> metrics;  // by name; numbers only
  size_t records = 0;
  size_t unreadable = 0;  // lines that a killed process left unfinished, and records at steps that are none
  double first_time = 0, last_time = 0;
  double last_step = 0, last_epoch = 0;

  // A record as the Trainer and hftrain log it: step, epoch, time and metrics. One whose step is not beyond those that were
  // added goes on from an earlier step: what a metric had from there on belongs to work that was lost. One whose step is no
  // finite number up to 2^53 counts as unreadable.
  void add(const Json& record);
};

// Of millions of lines in seconds. A line that is no JSON object counts as unreadable.
RunLog read_log_lines(std::string_view lines);
// The same for further lines, all of them whole.
void add_log_lines(RunLog& log, std::string_view lines);

// "log_history" of a trainer_state.json, the Trainer's own or ours.
RunLog read_log_history(const Json& state);

}  // namespace hftrain::report
