#include "hftrain/arguments/import/fsdp.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/announced.h"
#include "hftrain/arguments/import/file_kind.h"
#include "hftrain/arguments/import/fsdp_rules.h"
#include "hftrain/arguments/import/fsdp_settings.h"
#include "hftrain/arguments/section.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;

constexpr std::string_view kFsdpPrefix = "fsdp_";

// Variables of an accelerate launch that are settings; FSDP_<KEY>.
constexpr std::array kVariables = {"FSDP_VERSION",
                                   "FSDP_SHARDING_STRATEGY",
                                   "FSDP_RESHARD_AFTER_FORWARD",
                                   "FSDP_OFFLOAD_PARAMS",
                                   "FSDP_AUTO_WRAP_POLICY",
                                   "FSDP_MIN_NUM_PARAMS",
                                   "FSDP_TRANSFORMER_CLS_TO_WRAP",
                                   "FSDP_BACKWARD_PREFETCH",
                                   "FSDP_FORWARD_PREFETCH",
                                   "FSDP_SYNC_MODULE_STATES",
                                   "FSDP_CPU_RAM_EFFICIENT_LOADING",
                                   "FSDP_USE_ORIG_PARAMS",
                                   "FSDP_STATE_DICT_TYPE",
                                   "FSDP_ACTIVATION_CHECKPOINTING",
                                   "FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD",
                                   "FSDP_IGNORED_MODULES"};

// accelerate launch exports these whether or not anybody asked for something: with such a value, in lower case, nobody has
// written one.
struct Unasked {
  std::string_view variable;
  std::array<std::string_view, 2> values;
};
constexpr std::array kUnasked = {Unasked{"FSDP_SHARDING_STRATEGY", {"full_shard", "1"}},
                                 Unasked{"FSDP_RESHARD_AFTER_FORWARD", {"true"}},
                                 Unasked{"FSDP_OFFLOAD_PARAMS", {"false"}},
                                 Unasked{"FSDP_MIN_NUM_PARAMS", {"100000000.0", "100000000"}},
                                 Unasked{"FSDP_FORWARD_PREFETCH", {"false"}},
                                 Unasked{"FSDP_SYNC_MODULE_STATES", {"true"}},
                                 Unasked{"FSDP_CPU_RAM_EFFICIENT_LOADING", {"true"}},
                                 Unasked{"FSDP_USE_ORIG_PARAMS", {"true"}},
                                 Unasked{"FSDP_ACTIVATION_CHECKPOINTING", {"false"}},
                                 Unasked{"FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", {"false"}}};

bool is_unasked(std::string_view variable, const std::string& text) {
  return std::any_of(kUnasked.begin(), kUnasked.end(), [&](const Unasked& each) {
    return each.variable == variable &&
           std::count(each.values.begin(), each.values.end(), to_lower(text)) > 0;
  });
}

// Unset, false or none.
bool asks_for_nothing(const Json& value) {
  const std::string word = to_lower(value.is_string() ? value.get<std::string>() : value.dump());
  return word.empty() || word == "null" || word == "false" || word == "0";
}

// The four keys that TrainingArguments.to_json_string() writes where nobody asked for FSDP, and what is unset. That others are
// false says something.
bool config_asks_for_nothing(const Json& config) {
  constexpr std::array<std::string_view, 4> kWrittenUnasked = {"min_num_params", "xla", "xla_fsdp_v2",
                                                               "xla_fsdp_grad_ckpt"};
  for (const auto& [key, value] : config.items()) {
    const bool unasked = std::count(kWrittenUnasked.begin(), kWrittenUnasked.end(), key) > 0;
    if (!value.is_null() && !(unasked && asks_for_nothing(value))) return false;
  }
  return !config.empty();
}

bool is_on(const ParseOutcome& outcome, const char* flag) {
  const auto given = outcome.unread.find(flag);
  return given != outcome.unread.end() && given->second == true;
}

std::vector<std::string> words_of(const ParseOutcome& outcome) {
  const auto given = outcome.unread.find("fsdp");
  std::vector<std::string> words;
  if (given != outcome.unread.end() && given->second.is_array()) words = given->second;
  if (words == std::vector<std::string>{"false"}) words.clear();
  return words;
}

// The word false, or no word on the command line: files of the Trainer's say `fsdp: []` as they say every default.
bool declines_fsdp(const ParseOutcome& outcome) {
  const auto given = outcome.unread.find("fsdp");
  if (given != outcome.unread.end() && given->second == Json::array({"false"})) return true;
  return outcome.origins.of("fsdp").starts_with("--") && words_of(outcome).empty();
}

// Flags fsdp_<key> that somebody gave, on the command line or in an Accelerate file.
std::vector<const Flag*> given_flags(const ParseOutcome& outcome) {
  std::vector<const Flag*> flags;
  for (const Flag* flag : flag_table().flags()) {
    if (!flag->name.starts_with(kFsdpPrefix) || flag->name == "fsdp_config") continue;
    if (outcome.unread.count(std::string(flag->name)) > 0) flags.push_back(flag);
  }
  return flags;
}

class Import {
 public:
  Import(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems)
      : environment_(environment),
        outcome_(outcome),
        problems_(problems),
        reader_(request_.settings, problems) {
    request_.words = words_of(outcome);
    request_.words_origin = outcome.origins.of("fsdp");
    request_.launched = launches_fsdp(environment, outcome);
    request_.launch_origin =
        is_on(outcome, "use_fsdp") ? outcome.origins.of("use_fsdp") : "environment ACCELERATE_USE_FSDP";
  }

  std::optional<int64_t> run() {
    if (request_.words.empty() && !request_.launched) {
      say_declined();
      say_without_effect();
      return std::nullopt;
    }
    read_section();
    read_flags();
    if (announces_fsdp(environment_)) read_environment();
    settle_fsdp(request_, outcome_, problems_);
    const Sourced<int64_t>& version = request_.settings.version;
    return version ? std::optional(*version) : std::nullopt;
  }

 private:
  // A launch that asks for it, by words that are said apart.
  void say_declined() {
    const bool asked = is_on(outcome_, "use_fsdp") || announces_fsdp(environment_);
    if (!asked) return;
    if (request_.launch_origin.starts_with("--")) {
      problems_.push_back(
          {.what = "use_fsdp and fsdp differ",
           .where = outcome_.origins.describe("use_fsdp") + ", " + outcome_.origins.describe("fsdp"),
           .why = "one of them asks for FSDP, the other switches it off",
           .hint = "leave one of them out"});
      return;
    }
    outcome_.notes.push_back({.severity = Severity::kNote,
                              .what = "the run is not sharded by FSDP",
                              .where = request_.launch_origin + ", " + outcome_.origins.describe("fsdp"),
                              .why = "fsdp is off",
                              .hint = ""});
    if (!is_on(outcome_, "use_fsdp")) return;
    outcome_.unread["use_fsdp"] = false;  // nor does the run's record ask for it
    outcome_.origins.forget(request_.launch_origin);
  }

  void say_without_effect() {
    std::vector<std::string> names;
    // What is no mapping, or another one, is a mistake in any case.
    const std::optional<Section> section = configuration();
    if (section && !config_asks_for_nothing(section->values))
      names.push_back(outcome_.origins.describe("fsdp_config"));
    for (const Flag* flag : given_flags(outcome_)) {
      const std::string name(flag->name);
      if (asks_for_something(*flag)) names.push_back(outcome_.origins.describe(name));
    }
    if (names.empty()) return;
    const bool declined = declines_fsdp(outcome_);
    outcome_.notes.push_back({.severity = Severity::kWarning,
                              .what = "options of FSDP have no effect without --fsdp or --use_fsdp",
                              .where = join(names, ", "),
                              .why = declined ? "fsdp is off: " + outcome_.origins.describe("fsdp") : "",
                              .hint = declined ? "" : "--fsdp true"});
  }

  // Any value but the default; and that, too, where it switches something on: no file repeats those unasked.
  bool asks_for_something(const Flag& flag) const {
    const Json& value = outcome_.unread.at(std::string(flag.name));
    return value != flag.default_value() || !asks_for_nothing(value);
  }

  std::optional<Section> configuration() {
    std::optional<Section> section = section_of("fsdp_config", outcome_, problems_);
    if (section && refuse_other_kind(*section, "fsdp_config", problems_)) return std::nullopt;
    return section;
  }

  void read_section() {
    const std::optional<Section> section = configuration();
    if (!section) return;
    tell_comments(*section, outcome_.notes);
    request_.configured = true;
    std::map<std::string, std::string> seen;  // first name of a key -> its spelling here
    for (const auto& [name, value] : section->values.items()) {
      if (name.starts_with('_')) continue;
      const std::string origin = section->place('/' + name);
      const std::string key = name.starts_with(kFsdpPrefix) ? name.substr(kFsdpPrefix.size()) : name;
      const std::string_view canonical = FsdpReader::canonical(key);
      if (canonical.empty()) {
        unknown(name, key, origin);
        continue;
      }
      const auto [other, fresh] = seen.emplace(canonical, name);
      if (!fresh) {
        problems_.push_back({.what = "fsdp_config has both '" + other->second + "' and '" + name + '\'',
                             .where = place(origin),
                             .why = "they are two spellings of one key",
                             .hint = "keep one of them"});
        continue;
      }
      reader_.read(key, value, "fsdp_config: " + name, origin);
    }
  }

  void unknown(const std::string& name, const std::string& key, const std::string& origin) {
    std::string hint = did_you_mean(nearest_names(key, FsdpReader::keys()));
    if (hint.empty()) hint = "the keys are " + join(FsdpReader::keys(), ", ");
    problems_.push_back({.what = "fsdp_config: unknown key '" + name + '\'',
                         .where = place(origin),
                         .why = "neither the Trainer nor accelerate has such a key",
                         .hint = std::move(hint)});
  }

  void read_flags() {
    for (const Flag* flag : given_flags(outcome_)) {
      if (flag->support.status == Support::kRefused) continue;
      const std::string name(flag->name);
      reader_.read(name.substr(kFsdpPrefix.size()), outcome_.unread.at(name), name,
                   outcome_.origins.of(name));
    }
  }

  // Only for values that no argument gave; one that argues with an argument is told as without effect. What the launch would have
  // said by itself must not stand against one, nor be told as somebody's mistake; without it the same is done.
  void read_environment() {
    std::vector<std::string> used = {"ACCELERATE_USE_FSDP=true"}, idle;
    const std::set<std::string_view> overruled = overruled_variables();
    for (const char* variable : kVariables) {
      const std::string text = environment_.get_or(variable, "");
      if (text.empty()) continue;
      bool counts = overruled.count(variable) == 0;
      if (counts) {
        reader_.read(to_lower(std::string(variable).substr(kFsdpPrefix.size())), text, variable,
                     std::string("environment ") + variable,
                     is_unasked(variable, text) ? FsdpReader::Later::kCompared : FsdpReader::Later::kFillsIn);
        counts = !reader_.differs();
      }
      (counts ? used : idle).push_back(std::string(variable) + '=' + text);
    }
    outcome_.notes.push_back({.severity = Severity::kNote,
                              .what = "the environment asks for FSDP: " + join(used, " "),
                              .where = "",
                              .why = "",
                              .hint = ""});
    if (!idle.empty())
      outcome_.notes.push_back({.severity = Severity::kNote,
                                .what = "no effect of the environment: " + join(idle, " "),
                                .where = "",
                                .why = "what arguments say counts",
                                .hint = ""});
  }

  bool has_word(std::string_view word) const { return std::ranges::count(request_.words, word) > 0; }

  // Variables that say what arguments have said by another key: of the strategy, of units, of offloading, of recomputation.
  std::set<std::string_view> overruled_variables() const {
    constexpr std::array<std::string_view, 5> kStrategies = {"full_shard", "shard_grad_op", "no_shard",
                                                             "hybrid_shard", "hybrid_shard_zero2"};
    const FsdpSettings& settings = request_.settings;
    const bool by_size = settings.min_parameters.value_or(0) > 0,
               by_class = static_cast<bool>(settings.layer_classes);
    const std::string policy = settings.wrap_policy.value_or(has_word("auto_wrap") ? "transformer" : "");
    std::set<std::string_view> overruled;
    if (settings.strategy || settings.reshard ||
        std::ranges::any_of(kStrategies, [&](std::string_view word) { return has_word(word); }))
      overruled.insert({"FSDP_SHARDING_STRATEGY", "FSDP_RESHARD_AFTER_FORWARD"});
    if (by_size || by_class || !policy.empty()) overruled.insert("FSDP_AUTO_WRAP_POLICY");
    if (by_class || (!policy.empty() && policy != "size")) overruled.insert("FSDP_MIN_NUM_PARAMS");
    if (by_size || (!policy.empty() && policy != "transformer"))
      overruled.insert("FSDP_TRANSFORMER_CLS_TO_WRAP");
    if (has_word("offload")) overruled.insert("FSDP_OFFLOAD_PARAMS");
    const bool recomputes = outcome_.arguments.precision.gradient_checkpointing;
    if (recomputes) overruled.insert("FSDP_ACTIVATION_CHECKPOINTING");
    if (recomputes || !settings.activation_checkpointing.value_or(true))
      overruled.insert("FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD");
    return overruled;
  }

  const Environment& environment_;
  ParseOutcome& outcome_;
  Diagnostics& problems_;
  FsdpRequest request_;
  FsdpReader reader_;
};

}  // namespace

std::span<const char* const> fsdp_variables() {
  return kVariables;
}

bool launches_fsdp(const Environment& environment, const ParseOutcome& outcome) {
  return (is_on(outcome, "use_fsdp") || announces_fsdp(environment)) && !declines_fsdp(outcome);
}

bool asks_for_fsdp(const Environment& environment, const ParseOutcome& outcome) {
  return !words_of(outcome).empty() || launches_fsdp(environment, outcome);
}

std::optional<int64_t> import_fsdp(const Environment& environment, ParseOutcome& outcome,
                                   Diagnostics& problems) {
  return Import(environment, outcome, problems).run();
}

}  // namespace hftrain::arguments
