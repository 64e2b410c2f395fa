#include "hftrain/arguments/parse.h"

#include <algorithm>
#include <utility>

#include "hftrain/arguments/command_line.h"
#include "hftrain/arguments/compat.h"
#include "hftrain/arguments/config_file.h"
#include "hftrain/arguments/derive.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/import/announced.h"
#include "hftrain/arguments/import/environment.h"
#include "hftrain/arguments/import/import.h"
#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/import/visible_gpus.h"
#include "hftrain/arguments/merge.h"
#include "hftrain/arguments/option_keys.h"
#include "hftrain/arguments/other_machines.h"
#include "hftrain/arguments/rules.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;

bool asks_for(const std::vector<RawArgument>& raw, std::string_view flag) {
  return std::any_of(raw.begin(), raw.end(), [&](const RawArgument& each) {
    return each.flag->name == flag && each.written != false;
  });
}

Actions actions_of(const std::map<std::string, Json>& unread) {
  const auto on = [&](const char* flag) {
    const auto found = unread.find(flag);
    return found != unread.end() && found->second == true;
  };
  Actions actions;
  actions.dry_run = on("dry_run");
  actions.json = on("json");
  const auto print = unread.find("print_config");
  if (print != unread.end() && print->second.is_string())
    actions.print_config = print->second.get<std::string>();
  return actions;
}

// The last --machines of the command line.
std::optional<std::string> machines_asked(const std::vector<RawArgument>& line) {
  std::optional<std::string> machines;
  for (const RawArgument& each : line) {
    if (each.flag->name == "machines" && each.written.is_string()) machines = each.written.get<std::string>();
  }
  return machines;
}

std::vector<std::string> config_paths(const std::vector<RawArgument>& raw) {
  std::vector<std::string> paths;
  for (const RawArgument& each : raw) {
    if (each.flag->name != "config" && each.flag->name != "config_file") continue;
    const Json list = each.written.is_array() ? each.written : Json::array({each.written});
    for (const Json& path : list) paths.push_back(path.get<std::string>());
  }
  return paths;
}

class Parser {
 public:
  Parser(std::span<const std::string> argv, const Environment& environment)
      : argv_(argv), environment_(environment) {}

  ParseOutcome parse() {
    const std::vector<RawArgument> line = read_command_line(argv_, problems_);
    outcome_.actions.help = asks_for(line, "help");
    outcome_.actions.help_all = asks_for(line, "help_all");
    outcome_.actions.version = asks_for(line, "version");
    const std::optional<std::string> machines = machines_asked(line);
    if (machines == "list") {
      outcome_.unread["machines"] = *machines;
      outcome_.actions.json = asks_for(line, "json");
    }
    if (outcome_.actions.help || outcome_.actions.help_all || outcome_.actions.version)
      return std::move(outcome_);
    if (machines == "list") {
      if (!problems_.empty()) throw InvalidArguments(std::move(problems_), std::move(outcome_));
      return std::move(outcome_);
    }
    if (machines) environment_ = of_other_machines(environment_);
    std::vector<RawArgument> raw;
    read_files(config_paths(line), raw);
    raw.insert(raw.end(), line.begin(), line.end());
    std::erase_if(raw,
                  [](const RawArgument& each) { return each.flag->empty_is_unset && each.written == ""; });
    environment_ = without_declined_launches(environment_, raw, outcome_.notes);
    const std::vector<RawArgument> variables = flags_of_environment(environment_, outcome_.notes, problems_);
    raw.insert(raw.begin(), variables.begin(), variables.end());
    drop_other_kinds(raw, outcome_.notes);
    drop_keys_of_several_machines(raw, outcome_.notes);
    Diagnostics unrunnable;
    settle_open_ranks(raw, is_started_as_rank(environment_, raw), unrunnable);
    divide_processes(raw, problems_);
    check(raw, std::move(unrunnable));
    return std::move(outcome_);
  }

 private:
  void read_files(const std::vector<std::string>& paths, std::vector<RawArgument>& raw) {
    int layer = kFirstFileLayer;
    for (const std::string& path : paths) {
      ConfigFile file = read_config_file(path, layer++, problems_);
      raw.insert(raw.end(), file.raw.begin(), file.raw.end());
      outcome_.notes.insert(outcome_.notes.end(), file.notes.begin(), file.notes.end());
      hidden_.merge(file.hidden);
      for (auto& [name, value] : file.environment) {
        if (!say_idle(name, path)) outcome_.exported_environment[name] = value;
      }
    }
  }

  // A variable of `env:` that is a flag by another name, for such are read before files, or a rank's own: it is not set.
  // True when it is one.
  bool say_idle(const std::string& name, const std::string& path) {
    const std::optional<std::string> instead = instead_of_variable(name);
    const bool of_rank = is_of_each_rank(name);
    if (!instead && !of_rank) return false;
    const std::string flag = instead.value_or("").empty() ? "" : ", or use " + *instead;
    outcome_.notes.push_back({.severity = Severity::kWarning,
                              .what = "env: " + name + " does nothing to this run",
                              .where = path,
                              .why = of_rank ? "every rank is given its own"
                                             : "it counts where hftrain is started, before this file is read",
                              .hint = of_rank ? "leave it out" : "set it in the environment" + flag});
    return true;
  }

  // Whether there was a value, and which, cannot be known: the run goes on with what it takes without one.
  void tell_hidden() {
    for (const auto& [flag, place] : hidden_) {
      if (outcome_.origins.is_given(flag)) continue;
      outcome_.notes.push_back({.severity = Severity::kWarning,
                                .what = "the value of " + flag + " is not known",
                                .where = place,
                                .why = "to_json_string() writes such a word for every token, set or not; "
                                       "the run takes none from there",
                                .hint = "--" + flag + " TOKEN, if one was set"});
    }
  }

  void add_advice(const Diagnostics& advice) {
    constexpr const char* kHides = "TRANSFORMERS_NO_ADVISORY_WARNINGS";
    const std::string value = environment_.get_or(kHides, "");
    if (value.empty()) {
      outcome_.notes.insert(outcome_.notes.end(), advice.begin(), advice.end());
    } else if (!advice.empty()) {
      outcome_.notes.push_back({.severity = Severity::kNote,
                                .what = std::string(kHides) + '=' + value + " of the environment hides " +
                                        (advice.size() == 1 ? "a warning" : "warnings") + " about old names",
                                .where = "",
                                .why = "",
                                .hint = ""});
    }
  }

  // Values of a wrong type and unknown names are mistakes in any case; what is `unrunnable` only matters to a run.
  void check(const std::vector<RawArgument>& raw, Diagnostics unrunnable) {
    const Diagnostics advice = merge(raw, environment_.get_or("HOME", ""), outcome_, problems_, unrunnable);
    add_advice(advice);
    tell_hidden();
    outcome_.actions = actions_of(outcome_.unread);
    check_accelerate_agrees(raw, outcome_, unrunnable);
    import_launch(outcome_, unrunnable);
    import_machines(environment_, outcome_, unrunnable);
    import_gpu_ids(environment_, outcome_, unrunnable);
    import_formats(environment_, outcome_, unrunnable);
    note_used_variables(environment_, raw, outcome_);
    apply_older_defaults(outcome_, problems_, unrunnable);
    derive(environment_, outcome_);
    check_schedule_options(outcome_, unrunnable);
    check_optimizer_options(outcome_, unrunnable);
    check_rules(outcome_, problems_.empty(), unrunnable);
    if (outcome_.actions.print_config) {
      for (Diagnostic& diagnostic : unrunnable) {
        diagnostic.severity = Severity::kWarning;
        outcome_.notes.push_back(std::move(diagnostic));
      }
    } else {
      problems_.insert(problems_.end(), unrunnable.begin(), unrunnable.end());
    }
    if (!problems_.empty()) throw InvalidArguments(std::move(problems_), std::move(outcome_));
  }

  std::span<const std::string> argv_;
  Environment environment_;
  Diagnostics problems_;
  ParseOutcome outcome_;
  std::map<std::string, std::string> hidden_;  // of ConfigFile
};

}  // namespace

const std::string& Origins::of(const std::string& flag) const {
  static const std::string kDefault = "default";
  const auto found = by_flag_.find(flag);
  return found == by_flag_.end() ? kDefault : found->second;
}

bool Origins::is_given(const std::string& flag) const {
  return !is_default(flag) && !filled_in_.contains(flag);
}

std::string Origins::filled_in_by(const std::string& flag) const {
  const auto found = filled_in_.find(flag);
  return found == filled_in_.end() ? "" : found->second;
}

void Origins::set_filled_in(const std::string& flag, const std::string& by) {
  set(flag, "from " + by);
  filled_in_[flag] = by;
}

bool Origins::is_chosen(const std::string& flag) const {
  return !is_default(flag) && repeated_.count(flag) == 0;
}

void Origins::set(const std::string& flag, std::string origin) {
  by_flag_[flag] = std::move(origin);
  repeated_.erase(flag);
  filled_in_.erase(flag);
}

void Origins::set_repeated(const std::string& flag, std::string origin) {
  set(flag, std::move(origin));
  repeated_.insert(flag);
}

void Origins::forget(const std::string& origin) {
  std::erase_if(by_flag_, [&](const auto& each) { return each.second == origin; });
}

std::string Origins::describe(const std::string& flag) const {
  const std::string& origin = of(flag);
  if (origin.rfind("-", 0) == 0) return origin + " (command line)";
  return flag + " (" + origin + ')';
}

ParseOutcome parse_arguments(std::span<const std::string> argv, const Environment& environment) {
  return Parser(argv, environment).parse();
}

}  // namespace hftrain::arguments
