// What a run leaves in <output_dir>/hftrain/ before and after it works: plan.json, arguments.yaml,
// summary.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/output_place.h"
#include "launcher/front/inputs.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {

struct RunFolder {
  std::string path;  // <output_dir>/hftrain
  std::string logs;  // of the ranks, when --log_dir is given; empty: below path
  std::string plan() const { return path + "/plan.json"; }
  std::string arguments() const { return path + "/arguments.yaml"; }
  std::string summary() const { return path + "/summary.json"; }
  // Of the run before in this folder.
  std::string summary_before() const { return path + "/summary.before.json"; }
  std::string events() const { return path + "/events.jsonl"; }
  std::string ranks() const { return logs.empty() ? path + "/ranks" : logs; }
};
RunFolder run_folder(const std::string& output_dir, const std::optional<std::string>& log_dir = std::nullopt);

// The number of this start of a run: one more than the largest below ranks/, from 0.
int next_attempt(const RunFolder& folder);
// The same, for a run that begins: its folder is made, so that another run with the same --log_dir gets another number. Where none
// can be made the writers of the logs will say so.
int reserve_attempt(const RunFolder& folder);

// Beside a new plan the summary of a run before would be taken for the new run's, until it ends, and for good where it is killed.
void set_summary_aside(const RunFolder& folder);
void write_plan(const RunFolder& folder, const plan::RunPlan& plan);  // sets it aside
// Every argument with its origin, the command line, the git commit of the working directory, and the versions
// of hftrain and of what the workers beside `program` use with this back end.
void write_arguments(const RunFolder& folder, const Inputs& inputs, const CommandContext& context,
                     const std::string& backend);

// summary.json: the front program's phases, the workers' statistics, how it ended.
struct SummaryFacts {
  ExitCode code = ExitCode::kDone;
  std::string reason;
  std::map<std::string, double> phases;  // of the front program, seconds
  double total_seconds = 0;
  std::vector<launcher::WorkerRecord> workers;  // of the last attempt
  Json attempts = Json::array();
  int64_t checkpoints = 0;       // committed in all attempts; each was verified before
  double inherited_seconds = 0;  // of training, that the last attempt went on from
};
Json make_summary(const SummaryFacts& facts);
// Where the run's folder is now; nowhere if that is not known.
void write_summary(const storage::OutputPlace& place, const Json& summary);

// What a worker said of itself when it finished; an empty object for one that did not.
Json stats_of(const launcher::WorkerRecord& worker);

// The commit that HEAD names in the git repository around `directory`; empty when there is none.
std::string git_commit(const std::string& directory);

}  // namespace hftrain::front
