#include "hftrain/arguments/import/accelerate.h"

#include <algorithm>
#include <array>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/merge.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::arguments {
namespace {

// Keys that are a flag of the same name.
constexpr std::array kFlags = {"mixed_precision", "use_cpu", "gpu_ids", "enable_cpu_affinity",
                               "main_training_function"};
// Keys that accelerate reads for a TPU only, which is no kind of run here.
constexpr std::array kTpuKeys = {"downcast_bf16", "tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo",
                                 "tpu_vm",        "tpu_env",  "commands", "command_file"};
// Keys that only matter to several machines, and their flags.
struct Renamed {
  const char* key;
  const char* flag;
};
constexpr Renamed kBetweenMachines[] = {{"main_process_ip", "main_process_ip"},
                                        {"main_process_port", "main_process_port"},
                                        {"rdzv_backend", "rdzv_backend"},
                                        {"machine_rank", "machine_rank"},
                                        {"same_network", "same_network"}};
// Keys that are read in other ways, or mean nothing here.
constexpr std::array kOther = {"compute_environment",
                               "distributed_type",
                               "num_processes",
                               "num_machines",
                               "debug",
                               "deepspeed_config",
                               "fsdp_config",
                               "parallelism_config",
                               "megatron_lm_config",
                               "mpirun_config",
                               "fp8_config",
                               "dynamo_config",
                               "fp16",
                               "dynamo_backend"};
// Keys of older releases of accelerate, which it refuses today, too.
struct Gone {
  const char* key;
  const char* why;
};
constexpr Gone kGone[] = {
    {"ipex_config", "accelerate gave up Intel's extension; oneDNN is used on the CPU in any case"},
    {"tp_config", "accelerate gave it up for parallelism_config; there is no tensor parallelism here"},
    {"use_mps_device", "accelerate gave it up; there is no Apple hardware here"}};
// Those of kOther that are mappings.
constexpr std::array kSections = {"deepspeed_config",   "fsdp_config",   "parallelism_config",
                                  "megatron_lm_config", "mpirun_config", "fp8_config",
                                  "dynamo_config"};
constexpr std::array kDeepSpeedKeys = {"deepspeed_config_file",
                                       "zero_stage",
                                       "gradient_accumulation_steps",
                                       "gradient_clipping",
                                       "offload_optimizer_device",
                                       "offload_param_device",
                                       "offload_optimizer_nvme_path",
                                       "offload_param_nvme_path",
                                       "zero3_init_flag",
                                       "zero3_save_16bit_model",
                                       "deepspeed_hostfile",
                                       "deepspeed_exclusion_filter",
                                       "deepspeed_inclusion_filter",
                                       "deepspeed_multinode_launcher",
                                       "deepspeed_moe_layer_cls_names"};
// Keys of a DeepSpeed file that people write here, where accelerate looks at none of them.
constexpr std::array kMisplaced = {"seq_parallel_communication_data_type"};
// Keys of deepspeed_config where "auto" says that the Trainer's own argument decides.
constexpr std::array kAutomatic = {"gradient_accumulation_steps", "gradient_clipping"};
constexpr std::array kNotBesideFile = {
    "gradient_accumulation_steps", "gradient_clipping",      "zero_stage",
    "offload_optimizer_device",    "offload_param_device",   "offload_param_nvme_path",
    "offload_optimizer_nvme_path", "zero3_save_16bit_model", "mixed_precision"};

template <size_t N>
bool contains(const std::array<const char*, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class AccelerateReader {
 public:
  AccelerateReader(const Section& file, Diagnostics& problems, Diagnostics& notes)
      : file_(file), problems_(problems), notes_(notes) {}

  std::vector<RawArgument> read() {
    const size_t before = problems_.size();
    check_environment();
    if (problems_.size() > before) return {};  // SageMaker's files have other keys
    check_names();
    kind_ = text("distributed_type").value_or("");
    const bool unreadable = value("distributed_type") != nullptr && !value("distributed_type")->is_string();
    if (unreadable || !know_kind() || problems_.size() > before) return {};
    processes();
    for (const char* key : kFlags) top_level(key);
    old_keys();
    idle_keys();
    sections();
    if (problems_.size() > before) return {};  // what follows from half a file would only repeat it
    return std::move(raw_);
  }

 private:
  void check_names() {
    std::vector<std::string> known(kFlags.begin(), kFlags.end());
    known.insert(known.end(), kOther.begin(), kOther.end());
    known.insert(known.end(), kTpuKeys.begin(), kTpuKeys.end());
    for (const Renamed& each : kBetweenMachines) known.emplace_back(each.key);
    check_known(file_.values, "", known);
    for (const auto& [name, value] : file_.values.items()) {
      const bool several = name == "gpu_ids" || contains(kTpuKeys, name);
      const bool plain =
          std::find(known.begin(), known.end(), name) != known.end() && !contains(kSections, name);
      if (plain) check_plain(name, value, '/' + name, several);
    }
  }

  // Everything but a section is one value, or several where `several`. What is read later counts on it.
  void check_plain(const std::string& name, const Json& value, const std::string& pointer, bool several) {
    const bool nested = value.is_array() && std::any_of(value.begin(), value.end(),
                                                        [](const Json& each) { return !each.is_string(); });
    if (!value.is_object() && !nested && (several || !value.is_array())) return;
    problem(name + (value.is_object() ? ": a mapping stands here" : ": a list stands here"), pointer,
            several ? "it takes a text or a list of texts" : "it takes one value",
            "leave it out, or write the value itself");
  }

  void check_known(const Json& mapping, const std::string& pointer, const std::vector<std::string>& known) {
    for (const auto& [name, value] : mapping.items()) {
      if (name.starts_with('_') || std::find(known.begin(), known.end(), name) != known.end()) continue;
      unknown(name, "an Accelerate file", pointer, nearest_names(name, known));
    }
  }

  void unknown(const std::string& name, const std::string& of, const std::string& pointer,
               const std::vector<std::string>& nearest) {
    const auto* gone =
        std::find_if(std::begin(kGone), std::end(kGone), [&](const Gone& each) { return name == each.key; });
    const std::string hint = did_you_mean(nearest);
    problem("unknown key '" + name + "' of " + of, pointer + '/' + name,
            gone == std::end(kGone) ? "accelerate has no such key there" : gone->why,
            hint.empty() ? "leave it out" : hint);
  }

  void check_environment() {
    const std::string where = text("compute_environment").value_or("LOCAL_MACHINE");
    if (where == "LOCAL_MACHINE") return;
    problem("compute_environment " + where + " is not supported", "/compute_environment", "",
            "LOCAL_MACHINE, with hftrain on the machine itself");
  }

  bool know_kind() {
    constexpr std::array kKnown = {"NO", "MULTI_CPU", "MULTI_GPU", "DEEPSPEED", "FSDP"};
    constexpr std::array kElsewhere = {"MULTI_NPU", "MULTI_MLU",  "MULTI_SDAA",   "MULTI_MUSA",
                                       "MULTI_XPU", "MULTI_HPU",  "MULTI_NEURON", "XLA",
                                       "TPU",       "MEGATRON_LM"};
    if (kind_ == "no" || kind_ == "false") kind_ = "NO";  // a bare NO in YAML 1.1
    if (contains(kKnown, kind_)) return true;
    const std::string known = join({kKnown.begin(), kKnown.end()}, ", ");
    if (kind_.empty()) {
      problem("an Accelerate file needs distributed_type", "", "", "one of " + known);
    } else if (contains(kElsewhere, kind_)) {
      problem("distributed_type " + kind_ + " is not supported", "/distributed_type",
              kind_ == "MEGATRON_LM" ? "there is no Megatron-LM here" : "there is no such hardware here",
              "one of " + known);
    } else {
      problem("distributed_type '" + kind_ + "' is unknown", "/distributed_type", "", "one of " + known);
    }
    return false;
  }

  void processes() {
    machines_ = number("num_machines").value_or(1);
    const int64_t rank = number("machine_rank").value_or(0);
    if (rank < 0 || rank >= machines_)
      return problem("machine_rank " + std::to_string(rank) + " is not one of " + std::to_string(machines_) +
                         " machines",
                     "/machine_rank", "", "0 to num_machines - 1");
    ranks();
    if (machines_ > 1)
      add("num_machines", "num_machines", std::to_string(machines_), file_.place("/num_machines"));
    kind_of_run();
    for (const Renamed& each : kBetweenMachines) {
      if (machines_ > 1 && value(each.key) != nullptr)
        add(each.flag, each.key, *value(each.key), place(each.key));
    }
  }

  // The number of ranks; null where the file leaves it to the command line, see settle_open_ranks().
  void ranks() {
    const std::optional<int64_t> written = number("num_processes");
    const int64_t total = written.value_or(-1);
    if (kind_ == "NO") {
      if (total > 1)
        idle("num_processes", "distributed_type NO is one process, as accelerate launch starts it");
      return add("num_processes", "num_processes", "1", place("num_processes"));
    }
    if (total < 1)
      return add("num_processes", "num_processes", written ? Json(std::to_string(total)) : Json(nullptr),
                 place("num_processes"));
    if (total % machines_ != 0)
      return problem("num_processes does not divide by num_machines", "/num_processes",
                     std::to_string(total) + " processes, " + std::to_string(machines_) + " machines", "");
    if (kind_ == "MULTI_GPU" && total < 2)
      return problem("distributed_type MULTI_GPU needs num_processes of 2 or more", "/num_processes", "",
                     "distributed_type: 'NO' for one");
    add("num_processes", "num_processes", std::to_string(total), place("num_processes"));
  }

  void kind_of_run() {
    const std::string where = file_.place("/distributed_type");
    if (kind_ == "MULTI_CPU") add("use_cpu", "distributed_type", "true", where);
    if (kind_ == "MULTI_GPU") add("multi_gpu", "distributed_type", "true", where);
    if (kind_ == "DEEPSPEED") add("use_deepspeed", "distributed_type", "true", where);
    if (kind_ == "FSDP") add("use_fsdp", "distributed_type", "true", where);
  }

  void top_level(const std::string& key) {
    if (value(key) == nullptr || (key == "main_training_function" && *value(key) == "main")) return;
    if (key == "use_cpu" && kind_ == "MULTI_CPU") return;  // that says it already
    Json written = *value(key);
    if (key == "gpu_ids" && written.is_array()) {
      std::vector<std::string> ids;
      for (const Json& id : written) ids.push_back(id.get<std::string>());
      written = join(ids, ",");
    }
    add(key, key, written, place(key));
  }

  void old_keys() {
    if (is_true("fp16") && value("mixed_precision") == nullptr)
      add("mixed_precision", "fp16", "fp16", place("fp16"));
    if (value("dynamo_backend") != nullptr)
      add("dynamo_backend", "dynamo_backend", to_lower(*text("dynamo_backend")), place("dynamo_backend"));
    if (value("fp8_config") != nullptr && !value("fp8_config")->empty())
      problem("fp8_config is not supported", "/fp8_config", "there is no 8-bit floating point training",
              "leave it out, and mixed_precision: bf16");
  }

  // In any spelling of a truth value.
  bool is_true(const std::string& key) {
    if (value(key) == nullptr) return false;
    const Key described{.name = key, .type = Type::kBool};
    const Result<Json> converted = convert_mapping({&described, 1}, {{key, *value(key)}});
    if (const auto* error = std::get_if<ValueError>(&converted)) {
      problem(error->what, '/' + key, "", "true or false");
      return false;
    }
    return std::get<Json>(converted)[key] == true;
  }

  void idle_keys() {
    for (const char* key : kTpuKeys) {
      if (says_something(key)) idle(key, "it counts on a TPU only, and distributed_type is " + kind_);
    }
    if (says_something("debug"))
      idle("debug", "there is no mode in which ranks compare tensors before every operation");
  }

  bool says_something(const std::string& key) const {
    const Json* written = value(key);
    if (written == nullptr) return false;
    if (!written->is_string()) return !written->empty();
    const std::string word = to_lower(written->get<std::string>());
    return !word.empty() && word != "no" && word != "false";
  }

  void sections() {
    prefixed_section("fsdp_config", "fsdp_", kind_ == "FSDP");
    prefixed_section("dynamo_config", "dynamo_", true);
    prefixed_section("parallelism_config", "parallelism_config_", true);
    prefixed_section("mpirun_config", "mpirun_", machines_ > 1);
    if (value("megatron_lm_config") != nullptr && !value("megatron_lm_config")->empty())
      idle("megatron_lm_config", "distributed_type is " + kind_);
    deepspeed_section();
  }

  // Keys of a section are flags; the prefix may be left out.
  void prefixed_section(const std::string& section, const std::string& prefix, bool counts) {
    const Json* mapping = mapping_of(section);
    if (mapping == nullptr || mapping->empty()) return;
    if (!counts) return idle(section, "distributed_type is " + kind_);
    for (const auto& [name, written] : mapping->items()) {
      if (written.is_null() || name.starts_with('_')) continue;
      const std::string flag = name.starts_with(prefix) ? name : prefix + name;
      const std::string pointer = '/' + section + '/' + name;
      if (!flag_table().find(flag)) {
        unknown(name, section, '/' + section, nearest_names(flag, names_with(prefix)));
        continue;
      }
      const bool word = section == "dynamo_config" && written.is_string();
      add(flag, name, word ? Json(to_lower(written.get<std::string>())) : written, file_.place(pointer));
    }
    if (section == "parallelism_config")
      add("use_parallelism_config", section, "true", file_.place('/' + section));
  }

  static std::vector<std::string> names_with(const std::string& prefix) {
    std::vector<std::string> names;
    for (const Flag* flag : flag_table().flags()) {
      if (flag->name.starts_with(prefix)) names.emplace_back(flag->name);
    }
    return names;
  }

  void deepspeed_section() {
    const Json* mapping = mapping_of("deepspeed_config");
    if (mapping == nullptr || mapping->empty()) return;
    if (kind_ != "DEEPSPEED") return idle("deepspeed_config", "distributed_type is " + kind_);
    std::vector<std::string> known(kDeepSpeedKeys.begin(), kDeepSpeedKeys.end());
    known.insert(known.end(), kMisplaced.begin(), kMisplaced.end());
    check_known(*mapping, "/deepspeed_config", known);
    for (const char* key : kDeepSpeedKeys) {
      const std::string pointer = std::string("/deepspeed_config/") + key;
      if (mapping->contains(key)) check_plain(key, (*mapping)[key], pointer, false);
    }
    for (const char* key : kMisplaced) {
      if (mapping->contains(key))
        idle("deepspeed_config/" + std::string(key), "it is a key of DeepSpeed files");
    }
    if (mapping->contains("deepspeed_config_file")) check_beside_file(*mapping);
    for (const char* key : kDeepSpeedKeys) {
      if (!mapping->contains(key) || (*mapping)[key].is_null()) continue;
      const bool path = std::string(key).ends_with("_path");
      const bool several = std::string(key).starts_with("deepspeed_") &&
                           !std::string(key).starts_with("deepspeed_config") &&
                           !std::string(key).starts_with("deepspeed_moe");
      const bool automatic = contains(kAutomatic, key) && (*mapping)[key] == "auto";
      if (automatic || (path && (*mapping)[key] == "none") || (several && machines_ == 1)) continue;
      add(key, key, (*mapping)[key], file_.place(std::string("/deepspeed_config/") + key));
    }
  }

  void check_beside_file(const Json& mapping) {
    std::vector<std::string> found;
    for (const char* key : kNotBesideFile) {
      if (mapping.contains(key))
        found.push_back(std::string(key) + " (" + file_.place(std::string("/deepspeed_config/") + key) + ')');
    }
    if (value("mixed_precision") != nullptr)
      found.push_back("mixed_precision (" + file_.place("/mixed_precision") + ')');
    if (found.empty()) return;
    problem("beside deepspeed_config_file these keys cannot stand: " + join(found, ", "),
            "/deepspeed_config/deepspeed_config_file", "the DeepSpeed file says all of it",
            "move them into the DeepSpeed file, or leave deepspeed_config_file out");
  }

  const Json* mapping_of(const std::string& key) {
    const Json* mapping = value(key);
    if (mapping == nullptr || mapping->is_object()) return mapping;
    problem(key + " is not a mapping", '/' + key, "", "");
    return nullptr;
  }

  // Null when the key is absent or null.
  const Json* value(const std::string& key) const {
    const auto found = file_.values.find(key);
    return found == file_.values.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<std::string> text(const std::string& key) const {
    const Json* found = value(key);
    return found == nullptr || !found->is_string() ? std::nullopt : std::optional(found->get<std::string>());
  }
  std::optional<int64_t> number(const std::string& key) {
    const std::optional<std::string> written = text(key);
    if (!written) return std::nullopt;
    if (const auto parsed = signed_number<int64_t>(*written)) return parsed;
    problem(key + ": '" + *written + "' is not a whole number", '/' + key, "", "");
    return std::nullopt;
  }
  std::string place(const std::string& key) const { return file_.place('/' + key); }

  void add(const std::string& flag, const std::string& spelling, Json written, const std::string& origin) {
    raw_.push_back({.flag = flag_table().find(flag).flag,
                    .spelling = spelling,
                    .written = std::move(written),
                    .origin = origin,
                    .layer = kAccelerateLayer,
                    .places = {}});
  }
  void idle(const std::string& key, const std::string& why) {
    notes_.push_back({.severity = Diagnostic::Severity::kWarning,
                      .what = key + " has no effect",
                      .where = place(key),
                      .why = why,
                      .hint = ""});
  }
  void problem(std::string what, const std::string& pointer, std::string why, std::string hint) {
    problems_.push_back({.what = std::move(what),
                         .where = file_.place(pointer),
                         .why = std::move(why),
                         .hint = std::move(hint)});
  }

  const Section& file_;
  Diagnostics& problems_;
  Diagnostics& notes_;
  std::vector<RawArgument> raw_;
  std::string kind_;
  int64_t machines_ = 1;
};

constexpr std::array kKinds = {"multi_gpu",     "tpu",      "tpu_cluster",
                               "use_deepspeed", "use_fsdp", "use_megatron_lm"};

bool is_on(const RawArgument& raw) {
  const Result<Json> value = convert(*raw.flag, raw.written, "");
  return std::holds_alternative<Json>(value) && std::get<Json>(value) == true;
}

bool means(const RawArgument& raw, std::string_view flag) {
  return raw.flag->name == flag || raw.flag->replaced_by.flag == flag;
}

// The last word on use_cpu, of the Accelerate file itself or of what wins over it.
bool runs_on_cpu(const std::vector<RawArgument>& raw) {
  const RawArgument* last = nullptr;
  for (const RawArgument& each : raw) {
    if (means(each, "use_cpu") && (last == nullptr || each.layer >= last->layer)) last = &each;
  }
  return last != nullptr && is_on(*last);
}

bool asks_for_one_rank(const std::vector<RawArgument>& raw) {
  return std::any_of(raw.begin(), raw.end(), [](const RawArgument& each) {
    return each.layer > kAccelerateLayer && means(each, "nproc_per_node") && each.written == "1";
  });
}

bool on(const ParseOutcome& outcome, const char* flag) {
  const auto found = outcome.unread.find(flag);
  return found != outcome.unread.end() && found->second == true;
}

// Rules L2 and L3: a run is of one kind, and multi_gpu is for several ranks.
void check_kind(const ParseOutcome& outcome, Diagnostics& problems) {
  if (!on(outcome, "multi_gpu")) return;
  const auto refuse = [&](const char* other, const std::string& what) {
    problems.push_back(
        {.what = what,
         .where = outcome.origins.describe("multi_gpu") + ", " + outcome.origins.describe(other),
         .why = values_of(std::array<std::string_view, 2>{"multi_gpu", other}, outcome),
         .hint = "leave one of them out"});
  };
  for (const char* other : {"use_deepspeed", "use_fsdp"}) {
    if (on(outcome, other)) refuse(other, std::string("multi_gpu and ") + other + " exclude each other");
  }
  if (outcome.arguments.device.use_cpu) refuse("use_cpu", "multi_gpu and use_cpu exclude each other");
  if (outcome.arguments.launch.nproc_per_node == "1" && machines_of(outcome.arguments.launch.nnodes) == 1)
    refuse("nproc_per_node", "multi_gpu needs 2 ranks or more");
}

void import_mixed_precision(ParseOutcome& outcome, Diagnostics& problems) {
  const auto found = outcome.unread.find("mixed_precision");
  if (found == outcome.unread.end() || found->second.is_null() || found->second == "no") return;
  const auto word = found->second.get<std::string>();
  const std::string& origin = outcome.origins.of("mixed_precision");
  if (word == "fp8") {
    problems.push_back({.what = "mixed_precision fp8 is not supported",
                        .where = outcome.origins.describe("mixed_precision"),
                        .why = "there is no 8-bit floating point training",
                        .hint = "use bf16"});
    return;
  }
  PrecisionArguments& precision = outcome.arguments.precision;
  if (!precision.fp16 && !precision.bf16) {
    (word == "fp16" ? precision.fp16 : precision.bf16) = true;
    return outcome.origins.set(word, origin);
  }
  if (word == "fp16" ? precision.fp16 : precision.bf16) return;
  outcome.notes.push_back({.severity = Diagnostic::Severity::kNote,
                           .what = "the flags fp16 and bf16 win over mixed_precision " + word,
                           .where = place(origin),
                           .why = "",
                           .hint = ""});
}

}  // namespace

std::vector<RawArgument> accelerate_flags(const Section& file, Diagnostics& problems, Diagnostics& notes) {
  return AccelerateReader(file, problems, notes).read();
}

bool excluded_beside_deepspeed_file(const std::string& key) {
  return contains(kNotBesideFile, key);
}

void drop_other_kinds(std::vector<RawArgument>& raw) {
  if (runs_on_cpu(raw) || asks_for_one_rank(raw)) {
    std::erase_if(raw, [](const RawArgument& each) {
      return each.layer == kAccelerateLayer && each.flag->name == "multi_gpu";
    });
  }
  const bool chosen = std::any_of(raw.begin(), raw.end(), [](const RawArgument& each) {
    return each.layer == kCommandLineLayer && contains(kKinds, std::string(each.flag->name)) && is_on(each);
  });
  if (!chosen) return;
  std::erase_if(raw, [](const RawArgument& each) {
    return each.layer == kAccelerateLayer && contains(kKinds, std::string(each.flag->name));
  });
}

void settle_open_ranks(std::vector<RawArgument>& raw, Diagnostics& notes, Diagnostics& problems) {
  const auto means_ranks = [](const RawArgument& each) {
    return each.flag->name == "nproc_per_node" || each.flag->replaced_by.flag == "nproc_per_node";
  };
  const auto open = std::find_if(raw.begin(), raw.end(), [&](const RawArgument& each) {
    return each.layer == kAccelerateLayer && means_ranks(each) &&
           (each.written.is_null() || each.written.get<std::string>().starts_with('-') ||
            each.written == "0");
  });
  if (open == raw.end()) return;
  const RawArgument left_open = *open;
  raw.erase(open);
  if (std::any_of(raw.begin(), raw.end(), means_ranks)) return;
  if (!left_open.written.is_null()) {
    problems.push_back({.what = "num_processes " + left_open.written.get<std::string>() +
                                " leaves the number of ranks to the command line",
                        .where = left_open.origin,
                        .why = "and none is given there",
                        .hint = "--num_processes N"});
    return;
  }
  notes.push_back({.severity = Diagnostic::Severity::kNote,
                   .what = "the Accelerate file has no num_processes: one rank on every visible GPU, or one "
                           "CPU rank",
                   .where = left_open.origin,
                   .why = "",
                   .hint = "--num_processes N"});
}

void check_accelerate_agrees(const std::vector<RawArgument>& raw, const ParseOutcome& outcome,
                             Diagnostics& unrunnable) {
  for (const RawArgument& each : raw) {
    const std::string name(each.flag->replaced_by.flag.empty() ? each.flag->name
                                                               : each.flag->replaced_by.flag);
    const bool checked = name == "gradient_accumulation_steps" || name == "deepspeed";
    if (each.layer != kAccelerateLayer || !checked || outcome.origins.of(name) == each.origin) continue;
    // merge() has told of an invalid one.
    if (std::holds_alternative<ValueError>(convert(*each.flag, each.written, ""))) continue;
    const auto unread = outcome.unread.find(name);
    const Json winner = unread != outcome.unread.end() ? unread->second
                                                       : flag_table().named(name).slot.get(outcome.arguments);
    const std::string written = each.written.get<std::string>(),
                      won = winner.is_string() ? winner.get<std::string>() : winner.dump();
    if (written == won) continue;
    unrunnable.push_back({.what = each.spelling + " of the Accelerate file and " + name + " differ",
                          .where = each.origin + ", " + outcome.origins.describe(name),
                          .why = written + " against " + won,
                          .hint = "make them equal, or leave one of them out"});
  }
}

void import_launch(const Environment& environment, ParseOutcome& outcome, Diagnostics& unrunnable) {
  check_kind(outcome, unrunnable);
  import_mixed_precision(outcome, unrunnable);
  const auto found = outcome.unread.find("gpu_ids");
  if (found == outcome.unread.end() || !found->second.is_string() || found->second == "all") return;
  if (outcome.arguments.device.use_cpu) return;
  const std::optional<std::string> mask = environment.get("CUDA_VISIBLE_DEVICES");
  // It hides every GPU: that there is none to choose from is told with what the machine has (plan/).
  if (mask && (trim(*mask).empty() || trim(*mask).front() == '-')) return;
  const std::vector<std::string> visible = split(mask.value_or(""), ',');
  std::vector<std::string> chosen;
  for (const std::string& part : split(found->second.get<std::string>(), ',')) {
    const std::string id = trim(part);
    const bool number =
        !id.empty() && id.size() < 5 && id.find_first_not_of("0123456789") == std::string::npos;
    const size_t position = number ? std::stoul(id) : visible.size();
    if (!number || (mask && position >= visible.size())) {
      unrunnable.push_back({.what = "gpu_ids: there is no GPU '" + id + "'",
                            .where = outcome.origins.describe("gpu_ids"),
                            .why = mask ? "CUDA_VISIBLE_DEVICES=" + *mask + " is in the environment"
                                        : "GPUs are named by their numbers, from 0",
                            .hint = "numbers joined by commas, or all"});
      return;
    }
    chosen.push_back(mask ? visible[position] : id);
  }
  outcome.exported_environment["CUDA_VISIBLE_DEVICES"] = join(chosen, ",");
}

}  // namespace hftrain::arguments
