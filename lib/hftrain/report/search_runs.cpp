#include "hftrain/report/search_runs.h"

#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/regular_file.h"
#include "hftrain/report/html.h"
#include "hftrain/report/members.h"

namespace hftrain::report {
namespace {

namespace fs = std::filesystem;

struct ListedTrial {
  fs::path folder;  // beside search.json, wherever that was moved
  Json written;
};

std::vector<ListedTrial> trials_in(const std::string& path) {
  const fs::path list = fs::path(path) / "search.json";
  if (!has_regular_file(list, "the search")) return {};
  const Json trials = json_member(read_json_file(list, static_cast<int>(ExitCode::kData)), "trials");
  std::vector<ListedTrial> listed;
  for (const Json& trial : trials.is_array() ? trials : Json::array()) {
    const fs::path name = fs::path(text_or(trial, "folder", "")).filename();
    if (!name.empty()) listed.push_back({fs::path(path) / name, trial});
  }
  return listed;
}

// The first error of trial-N.log, which has what the trial said.
std::string first_error_in(const fs::path& log) {
  constexpr std::string_view kError = "error: ";
  if (!has_regular_file(log, "the search")) return "";
  const std::string text = '\n' + read_file(log);
  const size_t at = text.find('\n' + std::string(kError));
  if (at == std::string::npos) return "";
  const size_t begin = at + 1 + kError.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// `own`: of the run, empty where it has left none.
std::string failure_of(const ListedTrial& trial, const std::string& own) {
  constexpr const char* kCode = " (exit code ";
  if (own.find(kCode) != std::string::npos) return "failed: " + own;
  const double code = number_or(trial.written, "exit_code", 0);
  const std::string text = code == 0 ? "failed" : "failed" + (kCode + number_text(code)) + ')';
  const std::string reason = own.empty() ? first_error_in(trial.folder.string() + ".log")
                                         : "its run has " + own + ", without a metric to go by";
  return text + (reason.empty() ? "" : ": " + reason);
}

std::string state_of_trial(const ListedTrial& trial, const std::string& own, bool searches) {
  const std::string state = text_or(trial.written, "state", "");
  if (state == "pruned") return "pruned: the search stopped it early";
  if (state == "failed") return failure_of(trial, own);
  if (!own.empty()) return own;
  return searches ? "running, nothing logged yet" : "ended before it had logged anything";
}

Run run_of(const ListedTrial& trial, bool searches) {
  Run run;
  if (holds_run(trial.folder)) {
    run = read_run(trial.folder);
  } else {
    run.folder = fs::absolute(trial.folder).lexically_normal();
    run.name = trial.folder.filename();
    run.arguments = object_or_empty(trial.written, "parameters");
  }
  run.state = state_of_trial(trial, run.state, searches);
  return run;
}

}  // namespace

std::vector<Run> runs_of(const std::string& path) {
  const std::vector<ListedTrial> trials = trials_in(path);
  if (trials.empty()) return {read_run(path)};
  std::vector<Run> runs;
  if (holds_run(path)) runs.push_back(read_run(path));
  const bool searches = in_use(path);
  for (const ListedTrial& trial : trials) runs.push_back(run_of(trial, searches));
  return runs;
}

std::string fingerprint_of(const std::string& path) {
  std::string text = fingerprint(path) + '\n';
  const std::vector<ListedTrial> trials = trials_in(path);
  for (const ListedTrial& trial : trials)
    text += dump_json(trial.written, -1) + ' ' + fingerprint(trial.folder) + '\n';
  return text;
}

}  // namespace hftrain::report
