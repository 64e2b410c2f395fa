// What is known of a run from its output folder alone. Reads only.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/report/run_log.h"

namespace hftrain::report {

struct Run {
  std::string name;    // --run_name, else that of the folder
  std::string folder;  // the output folder, absolute
  std::string state;   // "running", "finished", "worker lost (exit code 9)", …
  bool running = false;
  RunLog log;
  Json plan = Json::object(), summary = Json::object();  // empty where the run has none (yet)
  Json arguments = Json::object();       // every flag with its value; empty for the Trainer's runs
  std::string arguments_text;            // arguments.yaml, with the origin of each value
  std::vector<Json> events;              // of events.jsonl, oldest first
  std::vector<std::string> checkpoints;  // names of folders, by step
};

// `path`: an output folder, the folder hftrain in it, or a checkpoint or output folder of the Python Trainer, of which only
// trainer_state.json is read. Error(kUsage) for anything else, Error(kData) for a damaged file.
Run read_run(const std::string& path);

// Whether it is the output folder of a run of hftrain's that has begun.
bool holds_run(const std::string& folder);

// Whether a run, or a search, goes on in it.
bool in_use(const std::string& folder);

// Changes when a file of the run does: sizes and times of those that read_run() reads.
std::string fingerprint(const std::string& folder);

}  // namespace hftrain::report
