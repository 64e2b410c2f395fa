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

// Of a file of git, which has short lines; empty of anything else: a pipe would never answer, and a device never end.
std::string first_line(const fs::path& path) {
  constexpr size_t kLongest = 4096;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  std::ifstream file(path);
  std::string text(kLongest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(kLongest));
  text.resize(static_cast<size_t>(file.gcount()));
  return text.substr(0, text.find('\n'));
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The line "commit name" of packed-refs.
std::string packed_reference(const fs::path& git, const std::string& name) {
  std::error_code ignored;
  if (!fs::is_regular_file(git / "packed-refs", ignored)) return "";
  std::ifstream file(git / "packed-refs");
  for (std::string line; std::getline(file, line);) {
    const size_t blank = line.find(' ');
    if (blank != std::string::npos && line.substr(blank + 1) == name) return line.substr(0, blank);
  }
  return "";
}

// What a file of git says behind `key`, as a folder seen from `beside`; empty: there is no such file.
fs::path named_folder(const fs::path& file, const std::string& key, const fs::path& beside) {
  const std::string line = first_line(file);
  if (line.size() <= key.size() || !line.starts_with(key)) return {};
  return (beside / line.substr(key.size())).lexically_normal();
}

// Where git keeps what it knows of a checkout: of a worktree or a submodule .git is a file that says where. Empty: `folder` is none.
fs::path git_folder(const fs::path& folder) {
  const fs::path inside = folder / ".git", elsewhere = named_folder(inside, "gitdir: ", folder);
  const fs::path git = elsewhere.empty() ? inside : elsewhere;
  return path_exists((git / "HEAD").string()) ? git : fs::path();
}

// HEAD is a worktree's own; branches are those of the repository that it was made of.
std::string commit_of_reference(const fs::path& git, const std::string& name) {
  if (!name.starts_with("refs/") || name.find("..") != std::string::npos) return "";
  const fs::path common = named_folder(git / "commondir", "", git);
  for (const fs::path& place : {git, common}) {
    if (place.empty()) continue;
    const std::string commit = first_line(place / name);
    const std::string found = commit.empty() ? packed_reference(place, name) : commit;
    if (!found.empty()) return found;
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

int reserve_attempt(const RunFolder& folder) {
  std::error_code error;
  fs::create_directories(folder.ranks(), error);
  int attempt = next_attempt(folder);
  while (!fs::create_directory(folder.ranks() + '/' + std::to_string(attempt), error) && !error) ++attempt;
  return attempt;
}

void set_summary_aside(const RunFolder& folder) {
  std::error_code none;
  fs::rename(folder.summary(), folder.summary_before(), none);
}

void write_plan(const RunFolder& folder, const plan::RunPlan& plan) {
  set_summary_aside(folder);
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
  // The share of the whole time in which updates were made that count: those of an attempt that nobody went on from do not.
  if (!stats.contains("phases")) {
    summary["goodput"] = nullptr;
  } else {
    const double training = phases.value("train", 0.0) + facts.inherited_seconds;
    summary["goodput"] = facts.total_seconds > 0 ? training / facts.total_seconds : 0.0;
  }
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

void write_summary(const storage::OutputPlace& place, const Json& summary) {
  if (const std::optional<std::string> now = place.now())
    write_file_atomically(run_folder(*now).summary(), dump_json(summary) + '\n');
}

std::string git_commit(const std::string& directory) {
  fs::path folder = fs::absolute(directory), git = git_folder(folder);
  while (git.empty()) {
    if (folder == folder.parent_path()) return "";
    folder = folder.parent_path();
    git = git_folder(folder);
  }
  constexpr std::string_view kReference = "ref: ";
  const std::string head = first_line(git / "HEAD");
  const std::string commit =
      head.starts_with(kReference) ? commit_of_reference(git, head.substr(kReference.size())) : head;
  return is_commit(commit) ? commit : "";
}

}  // namespace hftrain::front
