#include "launcher/front/run_record.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "hftrain/arguments/print_config.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/new_file.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/machine/installation.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The line "commit name" of packed-refs.
std::string packed_reference(const fs::path& git, const std::string& name) {
  std::ifstream file(git / "packed-refs");
  for (std::string line; std::getline(file, line);) {
    if (line.size() > 41 && line.substr(41) == name) return line.substr(0, 40);
  }
  return "";
}

Json rank_entry(const launcher::WorkerRecord& worker) {
  Json entry = stats_of(worker).value("rank", Json());
  if (!entry.is_object()) entry = Json::object();
  entry["rank"] = worker.rank;
  return entry;
}

}  // namespace

Json stats_of(const launcher::WorkerRecord& worker) {
  return worker.finished ? worker.finished->data.value("stats", Json::object()) : Json::object();
}

RunFolder run_folder(const std::string& output_dir, const std::optional<std::string>& log_dir) {
  return {output_dir + "/hftrain", log_dir ? fs::absolute(*log_dir).lexically_normal().string() : ""};
}

int next_attempt(const RunFolder& folder) {
  int next = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.ranks(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (const auto number = whole_number(name)) next = std::max(next, *number + 1);
  }
  return next;
}

void write_plan(const RunFolder& folder, const plan::RunPlan& plan) {
  write_file_atomically(folder.plan(), dump_json(plan::to_json_value(plan)) + '\n');
}

void write_arguments(const RunFolder& folder, const Inputs& inputs, const CommandContext& context,
                     const std::string& backend) {
  std::map<std::string, std::string> facts = {{"hftrain", HFTRAIN_VERSION}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts[name] = value;
  };
  add("git", git_commit(fs::current_path().string()));
  const std::string worker = (fs::path(context.program).parent_path() / "hftrain-worker").string();
  const machine::Installation found = machine::inspect_installation(worker, inputs.environment);
  add("torch", found.torch_version);
  if (backend == "nccl") add("nccl", found.nccl.value_or(""));
  if (backend == "mpi") add("mpi", machine::mpi_version().value_or(""));
  // Where there are secrets, there may be one whose name does not tell.
  const auto& exported = inputs.parsed.exported_environment;
  const bool secret =
      masked(exported) != exported || arguments::shown_words(context.arguments) != context.arguments;
  write_file_atomically(folder.arguments(),
                        arguments::arguments_yaml(inputs.parsed, context.arguments, facts),
                        secret ? FileAccess::kPrivate : FileAccess::kShared);
}

Json make_summary(const SummaryFacts& facts) {
  const Json stats = facts.workers.empty() ? Json::object() : stats_of(facts.workers.front());
  Json summary = {{"schema", 1},
                  {"exit_code", static_cast<int>(facts.code)},
                  {"reason", facts.reason},
                  {"seconds", facts.total_seconds}};
  Json phases = facts.phases;
  phases.update(stats.value("phases", Json::object()));
  // The share of the whole time in which updates were made.
  const double training = phases.value("train", 0.0);
  summary["goodput"] = facts.total_seconds > 0 ? training / facts.total_seconds : 0.0;
  summary["phases"] = std::move(phases);
  for (const char* rate : {"tokens_per_second", "samples_per_second", "steps_per_second"}) {
    summary[rate] = stats.contains(rate) ? stats[rate] : Json();
  }
  summary["checkpoints"] = {{"written", facts.checkpoints}, {"verified", facts.checkpoints}};
  summary["attempts"] = facts.attempts;
  summary["ranks"] = Json::array();
  for (const launcher::WorkerRecord& worker : facts.workers) summary["ranks"].push_back(rank_entry(worker));
  return summary;
}

void write_summary(const RunFolder& folder, const Json& summary) {
  write_file_atomically(folder.summary(), dump_json(summary) + '\n');
}

std::string git_commit(const std::string& directory) {
  fs::path folder = fs::absolute(directory);
  while (!path_exists((folder / ".git" / "HEAD").string())) {
    if (folder == folder.parent_path()) return "";
    folder = folder.parent_path();
  }
  const fs::path git = folder / ".git";
  const std::string head = first_line(git / "HEAD");
  if (head.rfind("ref: ", 0) != 0) return head;
  const std::string name = head.substr(5);
  const std::string commit = first_line(git / name);
  return commit.empty() ? packed_reference(git, name) : commit;
}

}  // namespace hftrain::front
