#include "hftrain/arguments/import/deepspeed.h"

#include <array>

#include <optional>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/announced.h"
#include "hftrain/arguments/import/base64.h"
#include "hftrain/arguments/import/deepspeed_keys.h"
#include "hftrain/arguments/import/deepspeed_parts.h"
#include "hftrain/arguments/import/file_kind.h"
#include "hftrain/arguments/section.h"
#include "hftrain/arguments/smoke_variable.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// The given value of a flag without a member; null when it was not given.
Json unread(const ParseOutcome& outcome, const std::string& flag) {
  const auto found = outcome.unread.find(flag);
  return found == outcome.unread.end() ? Json(nullptr) : found->second;
}

// The configuration, when there is one: as section_of() reads it, or JSON in the URL alphabet of base64.
std::optional<Section> configuration(const ParseOutcome& outcome, Diagnostics& problems) {
  const Json given = unread(outcome, "deepspeed");
  if (given.is_string() && !path_exists(given.get<std::string>())) {
    const std::optional<std::string> decoded = decode_base64(trim(given.get<std::string>()));
    if (decoded && trim(*decoded).starts_with('{'))
      return read_section_text(*decoded, "deepspeed", outcome, problems);
  }
  return section_of("deepspeed", outcome, problems);
}

// "zero_optimization": true was stage 1 once; the launch flags always name a section.
void renew(Section& section) {
  if (!section.values.contains("zero_optimization")) return;
  Json& zero = section.values["zero_optimization"];
  if (!zero.is_string()) return;
  const auto& word = zero.get_ref<const std::string&>();
  const std::optional<bool> on = word == "0" || word == "1" ? std::nullopt : truth_of(zero);
  if (on) zero = {{"stage", *on ? "1" : "0"}};
}

// Only an "auto" of the file is filled by a variable of accelerate launch.
void overrule_variables(const CheckedSection& keys, FlagValues& flags, ParseOutcome& outcome) {
  constexpr const char* kFilled[][2] = {
      {"zero_stage", "/stage"},
      {"offload_optimizer_device", "/offload_optimizer/device"},
      {"offload_optimizer_nvme_path", "/offload_optimizer/nvme_path"},
      {"offload_param_device", "/offload_param/device"},
      {"offload_param_nvme_path", "/offload_param/nvme_path"},
      {"zero3_save_16bit_model", "/stage3_gather_16bit_weights_on_model_save"}};
  for (const auto& [flag, key] : kFilled) {
    const std::string pointer = std::string("/zero_optimization") + key;
    if (!flags.is_of_environment(flag) || keys.is_auto(pointer)) continue;
    flags.overrule(flag, "it fills an \"auto\" of the DeepSpeed configuration alone", keys.place(pointer));
    outcome.unread.erase(flag);
  }
}

void import_file(Section& section, const Environment& environment, ParseOutcome& outcome,
                 Diagnostics& problems) {
  if (refuse_other_kind(section, "deepspeed", problems)) return;
  tell_comments(section, outcome.notes);
  renew(section);
  DeepSpeedOptions options;
  FlagValues flags(outcome, problems);
  CheckedSection keys(section, "deepspeed", {problems, outcome.notes});
  const DeepSpeedFile file{keys, outcome, flags, options, problems, is_of_smoke(environment)};
  const size_t before = problems.size();
  keys.check(deepspeed_keys());
  if (problems.size() > before) return;  // what follows from a wrong key would only repeat it
  if (!section.values.contains("zero_optimization")) {
    problems.push_back({.what = "deepspeed: the section zero_optimization is missing",
                        .where = section.origin,
                        .why = "the Trainer refuses a file without it",
                        .hint = "\"zero_optimization\": {\"stage\": 2}; stage 0 shards nothing"});
  }
  overrule_variables(keys, flags, outcome);
  import_batch(file);
  import_precision(file);
  import_optimizer(file);
  import_scheduler(file);
  import_clipping(file);
  import_zero(file);
  import_monitors(file);
  import_checkpoint(file);
  import_vocabulary_size(file);
  keys.note_idle_keys();
  outcome.arguments.parallel.deepspeed = options;
}

// The flags of `accelerate launch`; with a configuration beside them they must agree with it (rule D6).
class LaunchFlags {
 public:
  LaunchFlags(ParseOutcome& outcome, Diagnostics& problems)
      : outcome_(outcome), sharding_(outcome.arguments.parallel.sharding), problems_(problems) {}

  void run(bool configured) {
    configured_ = configured;
    stage();
    offload("offload_optimizer", sharding_.offload_optimizer, sharding_.optimizer_path,
            "where optimizer state lives");
    offload("offload_param", sharding_.offload_parameters, sharding_.parameters_path,
            "where parameters live");
    saving();
    first_values();
    clipping();
  }

 private:
  void stage() {
    const Json given = unread(outcome_, "zero_stage");
    if (given.is_null() && configured_) return;
    const int64_t stage = given.is_null() ? kDefaultStage : std::stoll(text(given));
    const std::string origin =
        given.is_null() ? outcome_.origins.of("use_deepspeed") : outcome_.origins.of("zero_stage");
    assign<std::string>(sharding_.strategy, strategy_of_stage(stage), origin, "the sharding strategy",
                        problems_);
    const bool parameters = text(unread(outcome_, "offload_param_device")) == "cpu" ||
                            text(unread(outcome_, "offload_param_device")) == "nvme";
    if (stage != 3 && parameters)
      refuse("offload_param_device", "offload_param_device needs ZeRO stage 3, not " + std::to_string(stage),
             "below it every rank has all parameters", "--zero_stage 3");
  }

  void offload(const std::string& flag, Sourced<std::string>& device, Sourced<std::string>& folder,
               const std::string& what) {
    const Json where = unread(outcome_, flag + "_device"), path = unread(outcome_, flag + "_nvme_path");
    if (!where.is_null()) assign(device, text(where), outcome_.origins.of(flag + "_device"), what, problems_);
    const bool named = !path.is_null() && text(path) != "none";
    if (named)
      assign(folder, text(path), outcome_.origins.of(flag + "_nvme_path"), "the folder of " + flag,
             problems_);
    if (named && device.value_or("none") != "nvme")
      note(flag + "_nvme_path", "nothing of it goes there: the device is " + device.value_or("none"));
    if (text(where) == "nvme" && !folder && !configured_)  // a file was asked for it
      refuse(flag + "_device", flag + "_device nvme needs " + flag + "_nvme_path",
             "its files lie in that folder", "--" + flag + "_nvme_path FOLDER");
  }

  void saving() {
    const Json whole = unread(outcome_, "zero3_save_16bit_model");
    if (whole.is_null()) return;
    if (sharding_.strategy.value_or("") != "full_shard") {
      if (whole == true) note("zero3_save_16bit_model", "below stage 3 every rank has all weights");
      return;
    }
    assign<std::string>(sharding_.state_dict, whole == true ? "full" : "sharded",
                        outcome_.origins.of("zero3_save_16bit_model"), "the form of saved weights",
                        problems_);
  }

  // Whether the model is in parts from the beginning, as only stage 3 has it, and always.
  void first_values() {
    const Json asked = unread(outcome_, "zero3_init_flag");
    if (asked.is_null() || !sharding_.strategy) return;
    const bool in_parts = *sharding_.strategy == "full_shard" || *sharding_.strategy == "hybrid_shard";
    if (asked == in_parts) return;
    outcome_.notes.push_back(
        {.severity = in_parts ? Diagnostic::Severity::kNote : Diagnostic::Severity::kWarning,
         .what = in_parts ? "zero3_init_flag false counts as true" : "zero3_init_flag true counts as false",
         .where = outcome_.origins.describe("zero3_init_flag"),
         .why = in_parts ? "in stage 3 every rank makes its own parts alone"
                         : "below stage 3 every rank has all parameters",
         .hint = in_parts ? "leave it out" : "--zero_stage 3, or leave it out"});
  }

  void clipping() {
    const Json norm = unread(outcome_, "gradient_clipping");
    if (norm.is_null()) return;
    FlagValues(outcome_, problems_)
        .set("max_grad_norm", norm, "gradient_clipping", place(outcome_.origins.of("gradient_clipping")));
  }

  void note(const std::string& flag, std::string why) {
    outcome_.notes.push_back({.severity = Diagnostic::Severity::kNote,
                              .what = flag + " has no effect",
                              .where = outcome_.origins.describe(flag),
                              .why = std::move(why),
                              .hint = ""});
  }

  void refuse(const std::string& flag, std::string what, std::string why, std::string hint) {
    problems_.push_back({.what = std::move(what),
                         .where = outcome_.origins.describe(flag),
                         .why = std::move(why),
                         .hint = std::move(hint)});
  }

  static std::string text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  ParseOutcome& outcome_;
  ParallelOptions& sharding_;
  Diagnostics& problems_;
  bool configured_ = false;
};

// DeepSpeed scales the loss of a run in fp16 by its own defaults, also without a section that says so.
void scale_loss(Arguments& arguments) {
  if (!arguments.precision.fp16) return;
  std::optional<DeepSpeedOptions>& options = arguments.parallel.deepspeed;
  if (!options) options.emplace();
  if (!options->loss_scale) options->loss_scale.emplace();
}

// Its other variables are told as the flags that they are.
void note_announcement(ParseOutcome& outcome) {
  outcome.notes.push_back({.severity = Diagnostic::Severity::kNote,
                           .what = "the environment asks for DeepSpeed: ACCELERATE_USE_DEEPSPEED=true",
                           .where = "",
                           .why = "",
                           .hint = ""});
}

void note_stray_init(ParseOutcome& outcome) {
  if (unread(outcome, "zero3_init_flag") != true) return;
  outcome.notes.push_back({.severity = Diagnostic::Severity::kWarning,
                           .what = "zero3_init_flag has no effect",
                           .where = outcome.origins.describe("zero3_init_flag"),
                           .why = "this is no DeepSpeed training",
                           .hint = "--use_deepspeed with --zero_stage 3, or leave it out"});
}

// Somebody said no, and not a file that repeats the default.
bool declines_deepspeed(const ParseOutcome& outcome) {
  return unread(outcome, "use_deepspeed") == false && outcome.origins.is_chosen("use_deepspeed");
}

constexpr std::array kAsking = {"deepspeed", "zero_stage"};
constexpr std::array kOptions = {"offload_optimizer_device",    "offload_param_device",
                                 "offload_optimizer_nvme_path", "offload_param_nvme_path",
                                 "zero3_save_16bit_model",      "gradient_clipping"};

bool is_given(const ParseOutcome& outcome, const std::string& flag) {
  const Json given = unread(outcome, flag);
  return !given.is_null() && given != false && given != "none";
}

// What the file of a launch says of DeepSpeed, of the run's record, too, which would else ask for it again.
void take_back_declined(ParseOutcome& outcome) {
  std::vector<std::string> names, places;
  std::vector<std::string> flags(kAsking.begin(), kAsking.end());
  flags.emplace_back("zero3_init_flag");
  flags.insert(flags.end(), kOptions.begin(), kOptions.end());
  for (const std::string& flag : flags) {
    const std::string origin = outcome.origins.of(flag);
    if (!is_given(outcome, flag) || origin.starts_with("--")) continue;
    names.push_back(flag);
    places.push_back(outcome.origins.describe(flag));
    outcome.unread[flag] = nullptr;
    outcome.origins.forget(origin);
  }
  if (names.empty()) return;
  outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kNote,
       .what = join(names, ", ") + (names.size() == 1 ? " has" : " have") + " no effect",
       .where = join(places, ", "),
       .why = "use_deepspeed is false (" + outcome.origins.describe("use_deepspeed") + ')',
       .hint = ""});
}

void refuse_declined(const ParseOutcome& outcome, Diagnostics& problems) {
  for (const char* flag : kAsking) {
    if (!is_given(outcome, flag)) continue;
    problems.push_back(
        {.what = std::string("use_deepspeed and ") + flag + " differ",
         .where = outcome.origins.describe("use_deepspeed") + ", " + outcome.origins.describe(flag),
         .why = "one of them asks for DeepSpeed, the other switches it off",
         .hint = "leave one of them out"});
  }
}

// Options of DeepSpeed that nothing would read.
void refuse_stray_flags(const ParseOutcome& outcome, Diagnostics& problems) {
  for (const char* flag : kOptions) {
    const Json given = unread(outcome, flag);
    if (given.is_null() || given == "none") continue;
    problems.push_back({.what = std::string(flag) + " is an option of DeepSpeed training",
                        .where = outcome.origins.describe(flag),
                        .why = "this is no DeepSpeed training",
                        .hint = std::string(flag) == "gradient_clipping"
                                    ? "use --max_grad_norm"
                                    : "--use_deepspeed with --zero_stage N beside it"});
  }
}

}  // namespace

bool asks_for_deepspeed(const Environment& environment, const ParseOutcome& outcome) {
  if (announces_deepspeed(environment) || unread(outcome, "use_deepspeed") == true) return true;
  if (declines_deepspeed(outcome)) return false;
  return !unread(outcome, "deepspeed").is_null() || !unread(outcome, "zero_stage").is_null();
}

void import_deepspeed(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems) {
  if (!asks_for_deepspeed(environment, outcome)) {
    if (declines_deepspeed(outcome)) {
      take_back_declined(outcome);
      refuse_declined(outcome, problems);  // what the command line says of both
    }
    note_stray_init(outcome);
    return refuse_stray_flags(outcome, problems);
  }
  if (announces_deepspeed(environment)) note_announcement(outcome);
  const size_t before = problems.size();
  std::optional<Section> section = configuration(outcome, problems);
  if (section) import_file(*section, environment, outcome, problems);
  if (!section && problems.size() > before) return;
  LaunchFlags(outcome, problems).run(section.has_value());
  scale_loss(outcome.arguments);
}

}  // namespace hftrain::arguments
