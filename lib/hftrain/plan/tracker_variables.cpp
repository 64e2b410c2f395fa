#include "hftrain/plan/tracker_variables.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "hftrain/base/json.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// A tracker that reads variables with its prefix: those that act; those of other programs, of which nothing is said; why
// all others do nothing.
struct Tracker {
  std::string_view word, prefix;
  std::span<const std::string_view> acting, of_others;
  std::string_view why_idle;
};

constexpr const char* kNameOfWandb = "WANDB_NAME";
constexpr std::array<std::string_view, 9> kOfWandb = {"WANDB_DIR",       "WANDB_ENTITY", "WANDB_JOB_TYPE",
                                                      kNameOfWandb,      "WANDB_NOTES",  "WANDB_PROJECT",
                                                      "WANDB_RUN_GROUP", "WANDB_RUN_ID", "WANDB_TAGS"};
// What `wandb sync` reads when it uploads the run, and what only concerns what the package prints.
constexpr std::array<std::string_view, 6> kBesideWandb = {
    "WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_SILENT", "WANDB_QUIET", "WANDB_CONSOLE", "WANDB_DISABLED"};
constexpr std::array<std::string_view, 11> kOfMlflow = {"MLFLOW_EXPERIMENT_NAME",
                                                        "MLFLOW_FLATTEN_PARAMS",
                                                        "MLFLOW_MAX_LOG_PARAMS",
                                                        "MLFLOW_RUN_ID",
                                                        "MLFLOW_TAGS",
                                                        "MLFLOW_TRACKING_INSECURE_TLS",
                                                        "MLFLOW_TRACKING_PASSWORD",
                                                        "MLFLOW_TRACKING_SERVER_CERT_PATH",
                                                        "MLFLOW_TRACKING_TOKEN",
                                                        "MLFLOW_TRACKING_URI",
                                                        "MLFLOW_TRACKING_USERNAME"};
// Who the user is to the server, and how the server is known: their names alone are told.
constexpr std::array<std::string_view, 5> kUntold = {
    "MLFLOW_TRACKING_INSECURE_TLS", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_SERVER_CERT_PATH",
    "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME"};
constexpr std::array<std::string_view, 1> kBesideMlflow = {"MLFLOW_ALLOW_FILE_STORE"};

constexpr std::array<std::string_view, 1> kOfTrackio = {"TRACKIO_DIR"};
// What the dashboard reads, and what only concerns how the package writes its database.
constexpr std::array<std::string_view, 12> kBesideTrackio = {
    "TRACKIO_COLOR_PALETTE",       "TRACKIO_THEME",
    "TRACKIO_PLOT_ORDER",          "TRACKIO_LOGO_DARK_URL",
    "TRACKIO_LOGO_LIGHT_URL",      "TRACKIO_FRONTEND_DIR",
    "TRACKIO_INBOX_POLL_INTERVAL", "TRACKIO_TABLE_TRUNCATE_LENGTH",
    "TRACKIO_WRITE_TOKEN",         "TRACKIO_STORAGE_MODE",
    "TRACKIO_SQLITE_JOURNAL_MODE", "TRACKIO_SQLITE_SYNCHRONOUS"};

constexpr std::array<Tracker, 3> kTrackers = {
    {{"wandb", "WANDB_", kOfWandb, kBesideWandb, "it is written into files, and `wandb sync` uploads them"},
     {"mlflow", "MLFLOW_", kOfMlflow, kBesideMlflow, "it gets parameters, tags and metrics"},
     {"trackio", "TRACKIO_", kOfTrackio, kBesideTrackio,
      "it is written into the local store, and `trackio sync` sends that to a Space"}}};

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool says_yes(const Environment& environment, const char* name) {
  static constexpr std::array<std::string_view, 6> kWords = {"true", "1", "yes", "on", "y", "t"};
  return is_among(kWords, to_lower(environment.get_or(name, "")));
}

// The variable by which the user has turned a tracker off; empty: none.
std::string turned_off_by(std::string_view tracker, const Environment& environment) {
  if (tracker == "mlflow")
    return says_yes(environment, "DISABLE_MLFLOW_INTEGRATION") ? "DISABLE_MLFLOW_INTEGRATION" : "";
  if (tracker != "wandb") return "";
  if (to_lower(environment.get_or("WANDB_MODE", "")) == "disabled") return "WANDB_MODE";
  return says_yes(environment, "WANDB_DISABLED") ? "WANDB_DISABLED" : "";
}

bool says_nothing_new(const std::string& name, const std::string& value) {
  const std::string word = to_lower(value);
  if (name == "WANDB_MODE") return word == "offline" || word == "dryrun";
  return word == "false";
}

// "A=1, B=2 of the environment"
std::string named(const std::vector<std::string>& settings) {
  return join(settings, ", ") + " of the environment";
}

void note_variables(const Tracker& tracker, const Environment& environment, std::vector<Diagnostic>& notes) {
  std::vector<std::string> acting, idle;
  for (const auto& [name, value] : environment.variables()) {
    const bool of_tracker =
        name.starts_with(tracker.prefix) || name.starts_with("HF_" + std::string(tracker.prefix));
    if (!of_tracker || value.empty() || is_among(tracker.of_others, name)) continue;
    const std::string setting = is_among(kUntold, name) ? name : name + '=' + masked(name, value);
    if (is_among(tracker.acting, name)) {
      acting.push_back(setting);
    } else if (!says_nothing_new(name, value)) {
      idle.push_back(setting);
    }
  }
  const std::string run = " the run of " + std::string(tracker.word);
  if (!acting.empty())
    notes.push_back(note(named(acting) + (acting.size() == 1 ? " is" : " are") + " used for" + run));
  if (!idle.empty())
    notes.push_back(note(named(idle) + (idle.size() == 1 ? " has" : " have") + " no effect on" + run,
                         std::string(tracker.why_idle)));
}

void note_beaten_name(const Tracker& tracker, const std::string& run_name, const Environment& environment,
                      std::vector<Diagnostic>& notes) {
  const std::optional<std::string> name = environment.get(kNameOfWandb);
  if (tracker.word == "wandb" && name && !name->empty() && *name != run_name)
    notes.push_back(
        note(named({std::string(kNameOfWandb) + '=' + *name}) + " has no effect on the run of wandb",
             "run_name is " + run_name));
}

void check_wandb(const Environment& environment, Problems& problems) {
  const std::string id = environment.get_or("WANDB_RUN_ID", "");
  if (id.find_first_of("/\\#?%:") == std::string::npos && trim(id) == id) return;
  problems.usage("WANDB_RUN_ID '" + id + "' is no id of a run", "environment WANDB_RUN_ID",
                 "it is part of names of files and of addresses",
                 "one without / \\ # ? % : and blanks at its ends");
}

void check_mlflow(const Environment& environment, Problems& problems) {
  const std::string uri = environment.get_or("MLFLOW_TRACKING_URI", "");
  const bool of_databricks = uri == "databricks" || uri == "databricks-uc";  // the word alone is an address
  const bool folder = uri.find(':') == std::string::npos && !of_databricks;
  const bool known =
      folder || uri.starts_with("http://") || uri.starts_with("https://") || uri.starts_with("file:");
  if (!known)
    problems.usage("MLFLOW_TRACKING_URI " + masked("MLFLOW_TRACKING_URI", uri) + " is not supported",
                   "environment MLFLOW_TRACKING_URI", "runs go to a server of MLflow or into a folder",
                   "`mlflow server --backend-store-uri` with that, and http://HOST:PORT");
  const std::string tags = environment.get_or("MLFLOW_TAGS", "{}");
  const std::optional<Json> parsed = try_parse_json(tags);
  if (parsed && parsed->is_object()) return;
  problems.usage("MLFLOW_TAGS is no object of JSON", "environment MLFLOW_TAGS", tags,
                 "as {\"release\": \"1.0\"}");
}

}  // namespace

std::vector<std::string> running_trackers(const std::vector<std::string>& asked,
                                          const Environment& environment) {
  std::vector<std::string> running = asked;
  std::erase_if(running, [&](const std::string& each) { return !turned_off_by(each, environment).empty(); });
  return running;
}

void check_trackers(const std::vector<std::string>& asked, const Environment& environment,
                    Problems& problems) {
  const std::vector<std::string> running = running_trackers(asked, environment);
  if (is_among(running, "wandb")) check_wandb(environment, problems);
  if (is_among(running, "mlflow")) check_mlflow(environment, problems);
}

void note_trackers(const std::vector<std::string>& asked, const std::string& run_name,
                   const Environment& environment, std::vector<Diagnostic>& notes) {
  for (const Tracker& tracker : kTrackers) {
    if (!is_among(asked, tracker.word)) continue;
    const std::string off = turned_off_by(tracker.word, environment);
    if (off.empty()) {
      Environment read = environment;
      if (!run_name.empty()) {
        note_beaten_name(tracker, run_name, environment, notes);
        read.unset(kNameOfWandb);
      }
      note_variables(tracker, read, notes);
    } else {
      notes.push_back(note(off + '=' + environment.get_or(off, "") + " of the environment: no run of " +
                           std::string(tracker.word) + " is written"));
    }
  }
}

}  // namespace hftrain::plan
