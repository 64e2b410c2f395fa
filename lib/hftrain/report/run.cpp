#include "hftrain/report/run.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/regular_file.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/report/html.h"
#include "hftrain/report/members.h"
#include "hftrain/storage/run_directory.h"

namespace hftrain::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"log.jsonl", "plan.json", "summary.json", "events.jsonl", "arguments.yaml"};

std::optional<int> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  constexpr std::string_view kPrefix = "checkpoint-";
  return name.starts_with(kPrefix) ? whole_number(name.substr(kPrefix.size())) : std::nullopt;
}

std::vector<std::string> checkpoints_in(const fs::path& folder) {
  std::vector<std::pair<int, std::string>> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (const auto step = step_of(entry.path())) found.emplace_back(*step, entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [step, name] : found) names.push_back(std::move(name));
  return names;
}

bool has_file(const fs::path& path) {
  return has_regular_file(path, "the run");
}

Json object_in(const fs::path& path) {
  if (!has_file(path)) return Json::object();
  Json value = read_json_file(path, static_cast<int>(ExitCode::kData));
  return value.is_object() ? value : Json::object();
}

std::string text_in(const fs::path& path) {
  return has_file(path) ? read_file(path) : "";
}

std::vector<Json> events_in(const fs::path& path) {
  std::vector<Json> events;
  const std::string text = text_in(path);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::optional<Json> event = try_parse_json(std::string_view(text).substr(begin, end - begin));
    if (event && event->is_object()) events.push_back(std::move(*event));
    begin = end + 1;
  }
  return events;
}

// Whether the run has begun again after the summary was written.
bool summary_is_old(const fs::path& own) {
  std::error_code failed;
  const auto planned = fs::last_write_time(own / "plan.json", failed);
  if (failed) return false;
  const auto summed = fs::last_write_time(own / "summary.json", failed);
  return !failed && planned > summed;
}

std::string state_of(const Run& run, const fs::path& own) {
  if (run.running) return "running";
  if (run.summary.empty() || summary_is_old(own)) return "ended without a word: killed, or its machine lost";
  const double code = number_or(run.summary, "exit_code", 0);
  const std::string reason = text_or(run.summary, "reason", "finished");
  return code == 0 ? reason : reason + " (exit code " + number_text(code) + ')';
}

Json planned_arguments(const Json& plan) {
  const std::optional<Json> arguments =
      try_parse_json(text_or(object_or_empty(plan, "logging"), "arguments_json", "{}"));
  return arguments && arguments->is_object() ? *arguments : Json::object();
}

Run read_own(const fs::path& folder) {
  const fs::path own = folder / "hftrain";
  Run run;
  run.folder = folder.string();
  run.plan = object_in(own / "plan.json");
  run.summary = object_in(own / "summary.json");
  run.arguments = planned_arguments(run.plan);
  run.arguments_text = text_in(own / "arguments.yaml");
  if (has_file(own / "log.jsonl")) run.log = read_log_lines(MappedFile(own / "log.jsonl").bytes());
  run.events = events_in(own / "events.jsonl");
  run.checkpoints = checkpoints_in(folder);
  run.running = in_use(run.folder);
  run.state = state_of(run, own);
  run.name = text_or(object_or_empty(run.plan, "logging"), "run_name", "");
  return run;
}

// The newest trainer_state.json of a folder that the Python Trainer wrote.
std::optional<fs::path> trainer_state_in(const fs::path& folder) {
  if (path_exists(folder / "trainer_state.json")) return folder / "trainer_state.json";
  const std::vector<std::string> names = checkpoints_in(folder);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (path_exists(folder / *name / "trainer_state.json")) return folder / *name / "trainer_state.json";
  }
  return std::nullopt;
}

Run read_trainers(const fs::path& folder, const fs::path& state) {
  Run run;
  run.folder = folder.string();
  if (!has_file(state)) return run;  // it has gone since
  run.log = read_log_history(read_json_file(state, static_cast<int>(ExitCode::kData)));
  run.checkpoints = checkpoints_in(folder);
  run.state = "read from " + state.string();
  return run;
}

Error no_run(const std::string& path) {
  refuse_no_folder(path, path, ExitCode::kUsage);
  const bool there = path_exists(path);
  return Error(ExitCode::kUsage, there ? "there is no run in this folder" : "no such folder")
      .where(path)
      .why(there ? "it has neither hftrain/log.jsonl nor trainer_state.json"
                 : "a run is named by its output folder")
      .hint("hftrain report OUTPUT_DIR");
}

}  // namespace

bool holds_run(const std::string& folder) {
  return path_exists(folder + "/hftrain/plan.json") || path_exists(folder + "/hftrain/log.jsonl");
}

bool in_use(const std::string& folder) {
  try {
    storage::check_not_in_use(folder);
    return false;
  } catch (const Error&) {
    return true;
  }
}

Run read_run(const std::string& path) {
  fs::path folder = fs::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (folder.filename() == "hftrain" && !holds_run(folder)) folder = folder.parent_path();
  Run run;
  if (holds_run(folder)) {
    run = read_own(folder);
  } else if (const auto state = trainer_state_in(folder)) {
    run = read_trainers(folder, *state);
  } else {
    throw no_run(path);
  }
  if (run.name.empty()) run.name = folder.filename().string();
  return run;
}

std::string fingerprint(const std::string& folder) {
  std::string text;
  for (const char* name : kFiles) {
    std::error_code failed;
    const fs::path path = fs::path(folder) / "hftrain" / name;
    const auto size = fs::file_size(path, failed);
    if (failed) continue;
    const auto time = fs::last_write_time(path, failed).time_since_epoch().count();
    text += std::string(name) + ':' + std::to_string(size) + ':' + std::to_string(time) + ' ';
  }
  if (const auto state = trainer_state_in(folder); state && text.empty()) {
    std::error_code failed;
    text = state->string() + std::to_string(fs::last_write_time(*state, failed).time_since_epoch().count());
  }
  return text + (in_use(folder) ? "in use" : "");
}

}  // namespace hftrain::report
