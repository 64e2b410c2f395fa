// What a smoke run changes of a configuration, and nothing else: length, places to write, machines, and
// whatever would keep a resumed run from being the same. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/tasks/task.h"

namespace hftrain::front {

// A small model is through in milliseconds: enough steps are left after the first checkpoint to kill a rank
// in.
struct SmokeLength {
  int steps = 0, first_save = 0;
};

struct SmokeSetting {
  SmokeLength length;
  tasks::Task task = tasks::Task::kCausalLm;
  bool named_model = false;          // the configuration names one
  bool makes_weights = false;        // it names none, and wants an adapter, which stands beside some
  bool makes_data = false;           // it names no training data
  bool makes_tokenizer = false;      // it names none, and the task reads text
  int restarts = 0;                  // that the run makes by itself
  std::vector<std::string> flags;    // that come behind the user's; those of the same name are left out there
  std::vector<std::string> notices;  // what is not as the configuration says, for people
  std::map<std::string, std::string> environment;  // on top of the inherited one
};

// Trackers that may keep what they get beside other runs, and the variable that says where.
struct TrackerPlace {
  std::string_view tracker, variable;
};
std::span<const TrackerPlace> tracker_places();

// `gpus`: those that runs on this machine see; 0 for the CPU.
SmokeSetting smoke_setting(const arguments::ParseOutcome& parsed, int gpus);

// The user's command line in front of these flags.
std::vector<std::string> smoke_command_line(const std::vector<std::string>& words,
                                            const std::vector<std::string>& flags);

}  // namespace hftrain::front
