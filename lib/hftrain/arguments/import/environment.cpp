#include "hftrain/arguments/import/environment.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/import/announced.h"
#include "hftrain/arguments/import/fsdp.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

struct Variable {
  const char* name;
  const char* flag;
};
constexpr const char* kBoards = "TENSORBOARD_LOGGING_DIR";
constexpr const char* kVerbosity = "TRANSFORMERS_VERBOSITY";
constexpr const char* kOfVerbosity = "log_level";  // its flag

// torchrun takes every one of its flags from PET_<FLAG> too.
constexpr std::string_view kTorchrunPrefix = "PET_";
constexpr std::array kOfTorchrun = {"PET_NPROC_PER_NODE",
                                    "PET_NNODES",
                                    "PET_NODE_RANK",
                                    "PET_MASTER_ADDR",
                                    "PET_MASTER_PORT",
                                    "PET_LOCAL_ADDR",
                                    "PET_ROLE",
                                    "PET_RDZV_BACKEND",
                                    "PET_RDZV_ENDPOINT",
                                    "PET_RDZV_ID",
                                    "PET_RDZV_CONF",
                                    "PET_STANDALONE",
                                    "PET_MAX_RESTARTS",
                                    "PET_MONITOR_INTERVAL",
                                    "PET_START_METHOD",
                                    "PET_EVENT_LOG_HANDLER",
                                    "PET_MODULE",
                                    "PET_NO_PYTHON",
                                    "PET_RUN_PATH",
                                    "PET_LOG_DIR",
                                    "PET_LOGS_SPECS",
                                    "PET_REDIRECTS",
                                    "PET_TEE",
                                    "PET_LOCAL_RANKS_FILTER",
                                    "PET_DUPLICATE_STDOUT_FILTERS",
                                    "PET_DUPLICATE_STDERR_FILTERS",
                                    "PET_NUMA_BINDING",
                                    "PET_SIGNALS_TO_HANDLE",
                                    "PET_VIRTUAL_LOCAL_RANK"};

// Of a run that accelerate launch has announced.
constexpr Variable kOfLaunch[] = {
    {"ACCELERATE_MIXED_PRECISION", "mixed_precision"},
    {"ACCELERATE_USE_CPU", "use_cpu"},
    {"ACCELERATE_CPU_AFFINITY", "enable_cpu_affinity"},
    {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "gradient_accumulation_steps"},
    {"ACCELERATE_GRADIENT_CLIPPING", "max_grad_norm"},
    {"ACCELERATE_DYNAMO_BACKEND", "dynamo_backend"},
    {"ACCELERATE_DYNAMO_MODE", "dynamo_mode"},
    {"ACCELERATE_DYNAMO_USE_FULLGRAPH", "dynamo_use_fullgraph"},
    {"ACCELERATE_DYNAMO_USE_DYNAMIC", "dynamo_use_dynamic"},
    {"ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION", "dynamo_use_regional_compilation"},
};
constexpr Variable kOfDeepSpeed[] = {
    {"ACCELERATE_DEEPSPEED_CONFIG_FILE", "deepspeed"},
    {"ACCELERATE_DEEPSPEED_ZERO_STAGE", "zero_stage"},
    {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "offload_optimizer_device"},
    {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "offload_param_device"},
    {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH", "offload_optimizer_nvme_path"},
    {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH", "offload_param_nvme_path"},
    {"ACCELERATE_DEEPSPEED_ZERO3_INIT", "zero3_init_flag"},
    {"ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", "zero3_save_16bit_model"},
    {"ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES", "deepspeed_moe_layer_cls_names"},
};
constexpr Variable kOfMesh[] = {
    {"PARALLELISM_CONFIG_DP_REPLICATE_SIZE", "parallelism_config_dp_replicate_size"},
    {"PARALLELISM_CONFIG_DP_SHARD_SIZE", "parallelism_config_dp_shard_size"},
    {"PARALLELISM_CONFIG_TP_SIZE", "parallelism_config_tp_size"},
    {"PARALLELISM_CONFIG_CP_SIZE", "parallelism_config_cp_size"},
    {"PARALLELISM_CONFIG_CP_BACKEND", "parallelism_config_cp_backend"},
    {"PARALLELISM_CONFIG_CP_COMM_STRATEGY", "parallelism_config_cp_comm_strategy"},
    {"PARALLELISM_CONFIG_SP_SIZE", "parallelism_config_sp_size"},
    {"PARALLELISM_CONFIG_SP_BACKEND", "parallelism_config_sp_backend"},
    {"PARALLELISM_CONFIG_SP_SEQ_LENGTH", "parallelism_config_sp_seq_length"},
    {"PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", "parallelism_config_sp_seq_length_is_variable"},
    {"PARALLELISM_CONFIG_SP_ATTN_IMPLEMENTATION", "parallelism_config_sp_attn_implementation"},
};
constexpr std::array kAnnouncing = {"ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"};
// Those of a launch that are no flag's value.
constexpr std::array kOthersOfLaunch = {"ACCELERATE_TORCH_DEVICE", "ACCELERATE_USE_PARALLELISM_CONFIG",
                                        "ACCELERATE_CONFIG_DS_FIELDS", "ACCELERATE_DEBUG_MODE"};

// What starts the machines of a host file reads them before any of those reads a file.
constexpr std::array kOfStarter = {"DS_ENV_FILE", "HFTRAIN_SSH", "HFTRAIN_HOSTED", "HFTRAIN_SMOKE"};
// Every rank is given its own.
constexpr std::array kOfRanks = {"RANK",        "LOCAL_RANK",  "WORLD_SIZE",     "LOCAL_WORLD_SIZE",
                                 "MASTER_ADDR", "MASTER_PORT", "HFTRAIN_ATTEMPT"};

template <size_t kSize>
bool is_among(const std::array<const char*, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Null for any other.
const Variable* variable_of_launch(std::string_view name) {
  for (const auto& table : {std::span<const Variable>(kOfLaunch), std::span<const Variable>(kOfDeepSpeed),
                            std::span<const Variable>(kOfMesh)}) {
    for (const Variable& variable : table) {
      if (name == variable.name) return &variable;
    }
  }
  return nullptr;
}

bool is_true(const Environment& environment, const char* name) {
  return to_lower(environment.get_or(name, "false")) == "true";
}

// As accelerate reads truth values of the environment: also 1, yes, on. Another word is no less than on.
bool is_switched_on(const Environment& environment, const char* name) {
  static constexpr std::array kOff = {"", "false", "f", "no", "n", "off", "0", "none", "auto"};
  return std::find(kOff.begin(), kOff.end(), to_lower(environment.get_or(name, ""))) == kOff.end();
}

// Words by which accelerate writes "not set".
bool says_nothing(const std::string& text) {
  static constexpr std::array kWords = {"", "none", "no", "auto"};
  return std::find(kWords.begin(), kWords.end(), to_lower(text)) != kWords.end();
}

bool names_level(const std::string& word) {
  const std::vector<Choice>& levels = flag_table().named(kOfVerbosity).choices;
  return word != "passive" &&
         std::ranges::any_of(levels, [&](const Choice& level) { return level.word == to_lower(word); });
}

class EnvironmentReader {
 public:
  EnvironmentReader(const Environment& environment, Diagnostics& notes, Diagnostics& problems)
      : environment_(environment), notes_(notes), problems_(problems) {}

  std::vector<RawArgument> read() {
    add(kBoards, "logging_dir", text(kBoards));
    verbosity();
    for (const std::string name : kOfTorchrun)
      add(name, to_lower(name.substr(kTorchrunPrefix.size())), text(name));
    if (!text("HF_DATASETS_CACHE").empty())
      note("HF_DATASETS_CACHE of the environment has no effect here",
           "it holds tables that Python made; data sets by name lie in the hub cache");
    if (announces_fsdp(environment_) || announces_deepspeed(environment_)) {
      launch();
    } else {
      say_unannounced();
    }
    say_unknown();
    return std::move(raw_);
  }

 private:
  std::string text(const std::string& name) const { return environment_.get_or(name, ""); }

  // A word that is no level is passed over there, too: it may come from a shell's profile.
  void verbosity() {
    const std::string level = text(kVerbosity);
    if (level.empty() || names_level(level)) return add(kVerbosity, kOfVerbosity, to_lower(level));
    note(std::string(kVerbosity) + '=' + level + " of the environment has no effect",
         "there is no such level");
  }

  static Json meant(const Flag& flag, const std::string& value) {
    if (flag.slot.type == Type::kBool) return truth_of_launchers(value);
    return with_plain_numbers(flag, flag.name.starts_with("dynamo_") ? to_lower(value) : value);
  }

  void add(const std::string& name, const std::string& flag, const std::string& value) {
    if (!value.empty()) add_as(name, flag, value);
  }
  // For a flag whose value is not the variable's.
  void add_as(const std::string& name, const std::string& flag, const std::string& value) {
    raw_.push_back({.flag = &flag_table().named(flag),
                    .spelling = name,
                    .written = meant(flag_table().named(flag), value),
                    .origin = std::string(kEnvironmentOrigin) + name,
                    .layer = kEnvironmentLayer,
                    .places = {}});
  }

  // What says what the flag's default says anyway is passed over: accelerate exports every one of them.
  void of_launch(const Variable& variable) {
    const std::string value = text(variable.name);
    if (says_nothing(value) || repeats_default(variable)) return;
    add(variable.name, variable.flag, value);
  }

  void launch() {
    for (const Variable& variable : kOfLaunch) of_launch(variable);
    if (announces_deepspeed(environment_)) {
      for (const Variable& variable : kOfDeepSpeed) of_launch(variable);
      check_fields();
    } else {
      say_unused(of_deepspeed(), "ACCELERATE_USE_DEEPSPEED is not true");
    }
    if (!announces_fsdp(environment_)) say_unused(of_fsdp(), "ACCELERATE_USE_FSDP is not true");
    device();
    mesh();
    if (is_switched_on(environment_, "ACCELERATE_DEBUG_MODE"))
      note("ACCELERATE_DEBUG_MODE=" + text("ACCELERATE_DEBUG_MODE") + " of the environment has no effect",
           "there is no mode in which ranks compare tensors before every operation");
  }

  void device() {
    const std::string device = to_lower(text("ACCELERATE_TORCH_DEVICE"));
    if (device.empty() || device == "cuda" || device == "cuda:0") return;
    if (device == "cpu") return add_as("ACCELERATE_TORCH_DEVICE", "use_cpu", "true");
    problems_.push_back({.what = "ACCELERATE_TORCH_DEVICE " + device + " is not supported",
                         .where = "environment ACCELERATE_TORCH_DEVICE",
                         .why = "ranks run on the CPU, or each on the GPU of its local rank",
                         .hint = "cpu, or cuda with --gpu_ids"});
  }

  void mesh() {
    if (!is_true(environment_, "ACCELERATE_USE_PARALLELISM_CONFIG")) return say_unused_mesh();
    add("ACCELERATE_USE_PARALLELISM_CONFIG", "use_parallelism_config", "true");
    for (const Variable& variable : kOfMesh) of_launch(variable);
  }

  void say_unused_mesh() {
    std::vector<std::string> set = speaking(kOfMesh);
    collect_switch("ACCELERATE_USE_PARALLELISM_CONFIG", set);
    say_unused(set, "ACCELERATE_USE_PARALLELISM_CONFIG is not true");
  }

  void say_unannounced() {
    std::vector<std::string> set = speaking(kOfLaunch);
    for (const auto& part : {of_deepspeed(), speaking(kOfMesh)})
      set.insert(set.end(), part.begin(), part.end());
    collect("ACCELERATE_TORCH_DEVICE", set);
    for (const char* name : {"ACCELERATE_USE_PARALLELISM_CONFIG", "ACCELERATE_DEBUG_MODE"})
      collect_switch(name, set);
    const std::vector<std::string> fsdp = of_fsdp();
    set.insert(set.end(), fsdp.begin(), fsdp.end());
    say_unused(set, "neither ACCELERATE_USE_FSDP nor ACCELERATE_USE_DEEPSPEED is true");
  }

  std::vector<std::string> of_deepspeed() const {
    std::vector<std::string> set = speaking(kOfDeepSpeed);
    collect("ACCELERATE_CONFIG_DS_FIELDS", set);
    collect_switch("ACCELERATE_USE_DEEPSPEED", set);
    return set;
  }

  std::vector<std::string> of_fsdp() const {
    std::vector<std::string> set;
    for (const char* name : fsdp_variables()) collect(name, set);
    collect_switch("ACCELERATE_USE_FSDP", set);
    return set;
  }

  // What is of accelerate by its name, and read nowhere here.
  void say_unknown() {
    std::vector<std::string> names;
    for (const auto& [name, value] : environment_.variables()) {
      if (name.starts_with("ACCELERATE_") && !instead_of_variable(name) &&
          is_switched_on(environment_, name.c_str()))
        names.push_back(name);
    }
    if (!names.empty())
      note(join(names, ", ") + " of the environment " + (names.size() == 1 ? "has" : "have") +
               " no effect here",
           "nothing here reads such a variable");
  }

  void say_unused(const std::vector<std::string>& set, std::string why) {
    if (set.empty()) return;
    note(join(set, ", ") + " of the environment " + (set.size() == 1 ? "is" : "are") + " not used",
         std::move(why));
  }

  // NAME=value of those that say something else than their flag's default.
  std::vector<std::string> speaking(std::span<const Variable> variables) const {
    std::vector<std::string> set;
    for (const Variable& variable : variables) {
      if (!repeats_default(variable)) collect(variable.name, set);
    }
    return set;
  }

  bool repeats_default(const Variable& variable) const {
    const Flag& flag = flag_table().named(variable.flag);
    const Result<Json> converted = convert(flag, meant(flag, text(variable.name)), text("HOME"));
    const Json* same = std::get_if<Json>(&converted);
    return same != nullptr && *same == flag.default_value();
  }

  void collect(const char* name, std::vector<std::string>& set) const {
    const std::string value = text(name);
    if (!says_nothing(value) && to_lower(value) != "false" && to_lower(value) != "default")
      set.push_back(std::string(name) + '=' + value);
  }
  // Of one that is on or off.
  void collect_switch(const char* name, std::vector<std::string>& set) const {
    if (is_switched_on(environment_, name)) set.push_back(std::string(name) + '=' + text(name));
  }

  // Rule D4: the fields of the Accelerate file that accelerate launch was started with.
  void check_fields() {
    if (says_nothing(text("ACCELERATE_DEEPSPEED_CONFIG_FILE"))) return;
    std::vector<std::string> found;
    for (const std::string& field : split(text("ACCELERATE_CONFIG_DS_FIELDS"), ',')) {
      const std::string name = trim(field);
      if (excluded_beside_deepspeed_file(name)) found.push_back(name);
    }
    if (found.empty()) return;
    problems_.push_back({.what = "beside deepspeed_config_file these keys cannot stand: " + join(found, ", "),
                         .where = "environment ACCELERATE_CONFIG_DS_FIELDS",
                         .why = "the DeepSpeed file says all of it",
                         .hint = "move them from the Accelerate file into the DeepSpeed file"});
  }

  void note(std::string what, std::string why = "") {
    notes_.push_back({.severity = Diagnostic::Severity::kNote,
                      .what = std::move(what),
                      .where = "",
                      .why = std::move(why),
                      .hint = ""});
  }

  const Environment& environment_;
  Diagnostics& notes_;
  Diagnostics& problems_;
  std::vector<RawArgument> raw_;
};

// Levels that say "passive" themselves leave it to the variable.
void note_passive_levels(const Environment& environment, ParseOutcome& outcome) {
  const std::string level = environment.get_or(kVerbosity, "");
  if (!names_level(level)) return;
  const LoggingArguments& logging = outcome.arguments.logging;
  for (const auto& [flag, asked] : {std::pair("log_level", &logging.log_level),
                                    std::pair("log_level_replica", &logging.log_level_replica)}) {
    if (*asked != "passive") continue;
    outcome.notes.push_back(
        {.severity = Diagnostic::Severity::kNote,
         .what = std::string(kVerbosity) + '=' + level + " of the environment is used as --" + flag,
         .where = "",
         .why = "",
         .hint = ""});
  }
}

std::string target_of(const RawArgument& raw) {
  return std::string(raw.flag->replaced_by.flag.empty() ? raw.flag->name : raw.flag->replaced_by.flag);
}

// What wins over a variable of a launch and says something else, other than by repeating a default. Variables of the shell, as
// torchrun's, are meant to have arguments beside them.
const RawArgument* in_place_of(const RawArgument& variable, const std::vector<RawArgument>& raw,
                               const Origins& origins) {
  if (variable_of_launch(variable.spelling) == nullptr) return nullptr;
  const auto meaning = [](const RawArgument& each) {
    const Result<Json> value = convert(*each.flag, each.written, "");
    return std::holds_alternative<Json>(value) ? std::get<Json>(value) : each.written;
  };
  const std::string target = target_of(variable);
  if (!origins.is_chosen(target)) return nullptr;
  for (const RawArgument& each : raw) {
    if (each.layer > kEnvironmentLayer && target_of(each) == target && each.origin == origins.of(target))
      return meaning(each) == meaning(variable) ? nullptr : &each;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> instead_of_variable(const std::string& name) {
  if (is_among(kOfStarter, name)) return "";
  if (name == kBoards) return std::nullopt;  // the plan reads it from wherever it is set
  if (name == kVerbosity) return "--" + std::string(kOfVerbosity);
  if (const Variable* variable = variable_of_launch(name)) return "--" + std::string(variable->flag);
  if (is_among(kOfTorchrun, name)) return "--" + to_lower(name.substr(kTorchrunPrefix.size()));
  const auto is_named = [&](const char* each) { return name == each; };
  const bool of_fsdp = std::any_of(fsdp_variables().begin(), fsdp_variables().end(), is_named);
  if (of_fsdp || is_among(kAnnouncing, name) || is_among(kOthersOfLaunch, name))
    return "the flags of accelerate launch";
  return name == "TRANSFORMERS_NO_ADVISORY_WARNINGS" ? std::optional<std::string>("") : std::nullopt;
}

bool counts_for_flags(const std::string& name) {
  return name == kBoards || (instead_of_variable(name) && !is_among(kOfStarter, name));
}

bool is_of_each_rank(const std::string& name) {
  return is_among(kOfRanks, name);
}

std::vector<RawArgument> flags_of_environment(const Environment& environment, Diagnostics& notes,
                                              Diagnostics& problems) {
  return EnvironmentReader(environment, notes, problems).read();
}

void note_used_variables(const Environment& environment, const std::vector<RawArgument>& raw,
                         ParseOutcome& outcome) {
  const auto note = [&](const RawArgument& each, const std::string& end, std::string where, std::string why) {
    outcome.notes.push_back(
        {.severity = Diagnostic::Severity::kNote,
         .what = each.spelling + '=' + environment.get_or(each.spelling, "") + " of the environment " + end,
         .where = std::move(where),
         .why = std::move(why),
         .hint = ""});
  };
  for (const RawArgument& each : raw) {
    const bool told_idle = each.flag->support.status == Support::kAccepted && !each.flag->imported;
    if (each.layer != kEnvironmentLayer || told_idle) continue;
    if (outcome.origins.of(target_of(each)) == each.origin) {
      note(each, "is used as --" + std::string(each.flag->name), "", "");
    } else if (const RawArgument* given = in_place_of(each, raw, outcome.origins)) {
      note(each, "has no effect", place(given->origin), given->spelling + " is given");
    }
  }
  note_passive_levels(environment, outcome);
}

}  // namespace hftrain::arguments
