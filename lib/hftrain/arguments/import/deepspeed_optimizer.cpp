#include <algorithm>
#include <array>

#include "hftrain/arguments/import/deepspeed_keys.h"
#include "hftrain/arguments/import/deepspeed_parts.h"
#include "hftrain/arguments/option_keys.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr double kDefaultWarmup = 1000;   // updates, of a scheduler section that names none
constexpr double kDefaultMaximum = 1e-3;  // of WarmupDecayLR; WarmupLR takes the optimizer's rate
// Of optimizers whose params leave them out.
constexpr double kDefaultBeta1 = 0.9, kDefaultBeta2 = 0.999, kDefaultEpsilon = 1e-8;
constexpr const char* kParams = "/optimizer/params";
constexpr const char* kSchedule = "/scheduler/params";

bool same_adamw(const std::string& optim) {
  static constexpr std::array kNames = {"adamw_torch_fused", "adamw_torch", "adamw_hf", "adamw_apex_fused"};
  return std::find(kNames.begin(), kNames.end(), optim) != kNames.end();
}

// As in the Trainer, which builds what the section says and does not ask the flag.
void warn_of_idle_flag(const DeepSpeedFile& file, const std::string& section, const std::string& flag,
                       const std::string& type) {
  file.outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kWarning,
       .what = flag + ' ' + to_yaml(file.flags.value(flag)) + " has no effect",
       .where = file.outcome.origins.describe(flag) + ", " + file.keys.place('/' + section + "/type"),
       .why = "the DeepSpeed file has a section " + section + ", which says " + type,
       .hint = "leave one of them out"});
}

// Of a key that the params of a section leave out DeepSpeed's own value counts, whatever the flag says.
void take_default(const DeepSpeedFile& file, const std::string& section, const char* key, const char* flag,
                  double usual) {
  const double asked = file.flags.value(flag).get<double>();
  if (asked == usual) return;
  const std::string place = file.keys.place('/' + section + "/type");
  if (file.flags.given(flag)) {
    file.outcome.notes.push_back(
        {.severity = Diagnostic::Severity::kWarning,
         .what = std::string(flag) + ' ' + to_yaml(asked) + " has no effect",
         .where = file.outcome.origins.describe(flag) + ", " + place,
         .why = section + ".params has no " + key + ", of which DeepSpeed's default is " + to_yaml(usual),
         .hint = '"' + std::string(key) + "\": \"auto\" in " + section + ".params"});
  }
  file.flags.replace(flag, usual, place + " (DeepSpeed's default)");
}

// A value of params that a flag also sets.
void param(const DeepSpeedFile& file, const char* key, const char* flag, double usual) {
  const std::string pointer = std::string(kParams) + '/' + key;
  if (!file.keys.has(pointer)) return take_default(file, "optimizer", key, flag, usual);
  if (file.keys.is_auto(pointer)) return;
  file.flags.set(flag, *file.keys.find(pointer), std::string("optimizer.params.") + key,
                 file.keys.place(pointer));
}

void betas(const DeepSpeedFile& file) {
  const std::string pointer = std::string(kParams) + "/betas";
  if (!file.keys.has(pointer)) {
    take_default(file, "optimizer", "betas", "adam_beta1", kDefaultBeta1);
    return take_default(file, "optimizer", "betas", "adam_beta2", kDefaultBeta2);
  }
  if (file.keys.is_auto(pointer)) return;
  const Json& written = *file.keys.find(pointer);
  const Key row[] = {{.name = "beta", .type = Type::kFloat, .range = from_below(0, 1)}};
  std::vector<double> values;
  for (const Json& each : written) {
    const Result<Json> value = convert_mapping(row, Json{{"beta", each}});
    if (const Json* converted = std::get_if<Json>(&value))
      values.push_back((*converted)["beta"].get<double>());
  }
  if (written.size() != 2 || values.size() != 2) {
    file.problems.push_back(
        {.what = "deepspeed: optimizer.params.betas are two numbers 0 <= x < 1, not " + to_yaml(written),
         .where = file.keys.place(pointer),
         .why = "one is of the mean of gradients, one of that of their squares",
         .hint = "[0.9, 0.999], or \"auto\""});
    return;
  }
  file.flags.set("adam_beta1", values[0], "optimizer.params.betas[0]", file.keys.place(pointer));
  file.flags.set("adam_beta2", values[1], "optimizer.params.betas[1]", file.keys.place(pointer));
}

// The Trainer holds eps to adam_epsilon whatever the optimizer, and fills it in where "auto" stands.
Json epsilon(const DeepSpeedFile& file, const std::string& pointer) {
  const Json usual = file.flags.value("adam_epsilon");
  if (file.keys.is_auto(pointer)) return usual;
  const Json& written = *file.keys.find(pointer);
  if (file.flags.given("adam_epsilon") && written != usual)
    file.flags.conflict("adam_epsilon", "optimizer.params.eps", written, file.keys.place(pointer));
  return written;
}

// Two texts of one value of that option: 0.9 and 9e-1, true and True.
bool same_option(const std::string& optim, const std::string& key, const std::string& a,
                 const std::string& b) {
  const Result<Json> one = convert_mapping(optimizer_keys(optim), Json{{key, a}}),
                     other = convert_mapping(optimizer_keys(optim), Json{{key, b}});
  const auto *first = std::get_if<Json>(&one), *second = std::get_if<Json>(&other);
  return first && second ? *first == *second : a == b;
}

// Params that only --optim_args can say; what both say agrees.
void further_options(const DeepSpeedFile& file, const std::string& optim) {
  const Json written = file.flags.value("optim_args");
  const std::string asked = written.is_string() ? trim(written.get<std::string>()) : "";
  const auto pairs = option_pairs(asked);
  std::vector<std::string> options;
  if (!asked.empty()) options.push_back(asked);
  for (const char* key : {"alpha", "centered", "dampening", "eps", "lr_decay", "momentum", "nesterov"}) {
    const std::string pointer = std::string(kParams) + '/' + key;
    const bool is_epsilon = std::string_view(key) == "eps";
    if (!file.keys.has(pointer) || (is_epsilon && optim.starts_with("adam"))) continue;
    const std::string value = to_yaml(is_epsilon ? epsilon(file, pointer) : *file.keys.find(pointer));
    const auto given = std::ranges::find(pairs, key, &std::pair<std::string, std::string>::first);
    if (given == pairs.end()) {
      options.push_back(std::string(key) + '=' + value);
    } else if (!same_option(optim, key, given->second, value)) {
      file.flags.conflict("optim_args", std::string("optimizer.params.") + key,
                          std::string(key) + '=' + value, file.keys.place(pointer));
    }
  }
  const std::string text = join(options, ",");
  if (text == asked) return;
  file.flags.replace("optim_args", text,
                     asked.empty() ? file.keys.place(kParams) : file.outcome.origins.of("optim_args"));
}

// A schedule with a rate of its own sets it, not the optimizer.
void learning_rate(const DeepSpeedFile& file, double usual) {
  const Json* schedule = file.keys.find(kSchedule);
  const bool scheduled = schedule != nullptr && schedule->contains("warmup_max_lr");
  if (file.keys.has(std::string(kParams) + "/lr") || !scheduled) param(file, "lr", "learning_rate", usual);
}

void choose_optimizer(const DeepSpeedFile& file, const DeepSpeedOptimizer& optimizer,
                      const std::string& type) {
  const bool coupled =
      optimizer.type == "adam" && !file.keys.value_or(std::string(kParams) + "/adam_w_mode", true);
  const std::string optim = coupled ? "adam" : std::string(optimizer.optim);
  const std::string asked = file.flags.value("optim").get<std::string>();
  const bool agrees = asked == optim || (same_adamw(asked) && same_adamw(optim)) ||
                      (asked == "lion" && optim == "lion_32bit");
  if (!file.flags.given("optim")) {
    file.flags.set("optim", optim, "optimizer.type", file.keys.place("/optimizer/type"));
  } else if (asked == "adafactor") {
    file.flags.conflict("optim", "deepspeed: optimizer.type", type, file.keys.place("/optimizer/type"),
                        "leave one of them out");
  } else if (!agrees) {
    warn_of_idle_flag(file, "optimizer", "optim", type);
    file.flags.replace("optim", optim, file.keys.place("/optimizer/type"));
  }
  further_options(file, optim);
}

// The numbers that the schedule takes from flags.
void set_warmup(const DeepSpeedFile& file, const DeepSpeedScheduler& scheduler) {
  const std::string maximum = std::string(kSchedule) + "/warmup_max_lr",
                    steps = std::string(kSchedule) + "/warmup_num_steps";
  if (file.keys.has(maximum) && !file.keys.is_auto(maximum)) {
    file.flags.set("learning_rate", *file.keys.find(maximum), "scheduler.params.warmup_max_lr",
                   file.keys.place(maximum));
  } else if (!file.keys.has(maximum) && scheduler.type == "WarmupDecayLR") {
    take_default(file, "scheduler", "warmup_max_lr", "learning_rate", kDefaultMaximum);
  }
  if (file.keys.is_auto(steps)) return;
  if (!file.keys.has(steps))
    return take_default(file, "scheduler", "warmup_num_steps", "warmup_steps", kDefaultWarmup);
  const auto count = file.keys.find(steps)->get<int64_t>();
  const double asked = file.flags.value("warmup_steps").get<double>();
  const bool share = asked > 0 && asked < 1;  // of a number of updates that only the plan knows
  if (share && file.flags.given("warmup_steps")) {
    file.options.warmup_steps = {count, file.keys.place(steps)};
  } else if (static_cast<int64_t>(asked) != count || !file.flags.given("warmup_steps")) {
    file.flags.set("warmup_steps", static_cast<double>(count), "scheduler.params.warmup_num_steps",
                   file.keys.place(steps));
  }
}

void set_total(const DeepSpeedFile& file, const DeepSpeedScheduler& scheduler) {
  const bool needed = std::any_of(scheduler.params.begin(), scheduler.params.end(),
                                  [](const SectionKey& key) { return key.name == "total_num_steps"; });
  const std::string pointer = std::string(kSchedule) + "/total_num_steps";
  if (!needed || file.keys.is_auto(pointer)) return;
  if (!file.keys.has(pointer)) {
    file.problems.push_back({.what = "deepspeed: " + std::string(scheduler.type) + " needs total_num_steps",
                             .where = file.keys.place("/scheduler/params"),
                             .why = "it says where the learning rate ends",
                             .hint = "\"total_num_steps\": \"auto\""});
    return;
  }
  const Json total = *file.keys.find(pointer), asked = file.flags.value("max_steps");
  if (asked > 0 && asked != total && !file.is_of_smoke)  // of which --max_steps is the check's own
    return file.flags.conflict("max_steps", "scheduler.params.total_num_steps", total,
                               file.keys.place(pointer));
  file.options.total_steps = {total.get<int64_t>(), file.keys.place(pointer)};
}

// The warm-up's form; another word than DeepSpeed knows means log there, with a warning.
void check_warmup_type(const DeepSpeedFile& file, Json& options) {
  if (!options.contains("warmup_type") || options["warmup_type"] == "log" ||
      options["warmup_type"] == "linear")
    return;
  const std::string pointer = std::string(kSchedule) + "/warmup_type";
  file.outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kWarning,
       .what = "deepspeed: warmup_type " + to_yaml(options["warmup_type"]) + " is unknown and means log",
       .where = file.keys.place(pointer),
       .why = "",
       .hint = "log or linear"});
  options["warmup_type"] = "log";
}

// The params that no flag stands for.
Json own_options(const DeepSpeedFile& file, const DeepSpeedScheduler& scheduler) {
  Json options = Json::object();
  for (const SectionKey& key : scheduler.params) {
    const std::string name(key.name), pointer = std::string(kSchedule) + '/' + name;
    if (name == "warmup_max_lr" || name == "warmup_num_steps" || name == "total_num_steps") continue;
    if (file.keys.has(pointer) && !file.keys.is_auto(pointer)) options[name] = *file.keys.find(pointer);
  }
  check_warmup_type(file, options);
  return options;
}

// Texts of a configuration file become numbers, to be compared; mistakes are found by check_schedule_options.
void normalise_given_options(const DeepSpeedFile& file, const std::string& type) {
  std::optional<Json>& raw = file.outcome.arguments.schedule.lr_scheduler_kwargs;
  const Result<Json> typed = convert_mapping(schedule_keys(type), raw.value_or(Json::object()));
  if (const Json* options = std::get_if<Json>(&typed)) raw = *options;
}

void choose_schedule(const DeepSpeedFile& file, const DeepSpeedScheduler& scheduler) {
  const std::string type(scheduler.type), place = file.keys.place("/scheduler/type");
  const Json asked = file.flags.value("lr_scheduler_type");
  const bool other =
      file.flags.given("lr_scheduler_type") && asked != type && asked != std::string(scheduler.same_as);
  if (other) warn_of_idle_flag(file, "scheduler", "lr_scheduler_type", type);
  file.outcome.arguments.schedule.lr_scheduler_type = type;
  file.outcome.origins.set("lr_scheduler_type", place);
  const Json options = own_options(file, scheduler);
  if (other && file.flags.given("lr_scheduler_kwargs")) {  // which are the other schedule's
    warn_of_idle_flag(file, "scheduler", "lr_scheduler_kwargs", type);
    return file.flags.replace("lr_scheduler_kwargs", options, file.keys.place(kSchedule));
  }
  if (file.flags.given("lr_scheduler_kwargs")) normalise_given_options(file, type);
  if (!options.empty() || file.flags.given("lr_scheduler_kwargs"))
    file.flags.set("lr_scheduler_kwargs", options, "deepspeed: scheduler.params",
                   file.keys.place("/scheduler/params"));
}

}  // namespace

void import_optimizer(const DeepSpeedFile& file) {
  if (!file.keys.has("/optimizer")) return;
  file.options.has_optimizer = true;
  const std::string type = file.keys.value_or<std::string>("/optimizer/type", "");
  const DeepSpeedOptimizer* optimizer = deepspeed_optimizer(to_lower(type));
  if (optimizer == nullptr) {
    return file.refuse(
        "/optimizer/type",
        type.empty() ? "the optimizer section has no type" : "optimizer.type " + type + " is not supported",
        type.empty() ? "it says which optimizer the section is of" : "there is no such optimizer here",
        "use AdamW; Adam, Adagrad, Lion, SGD and RMSprop are there too");
  }
  file.keys.check(optimizer->params, kParams);
  choose_optimizer(file, *optimizer, type);
  learning_rate(file, optimizer->learning_rate);
  param(file, "weight_decay", "weight_decay", 0);
  const bool adam = optimizer->type.starts_with("adam");
  if (adam || optimizer->type == "lion") betas(file);
  if (adam) param(file, "eps", "adam_epsilon", kDefaultEpsilon);
}

void import_scheduler(const DeepSpeedFile& file) {
  if (!file.keys.has("/scheduler")) return;
  const std::string type = file.keys.value_or<std::string>("/scheduler/type", "");
  const DeepSpeedScheduler* scheduler = deepspeed_scheduler(type);
  if (scheduler == nullptr) {
    const std::vector<std::string> types = deepspeed_scheduler_types();
    file.problems.push_back(
        {.what = type.empty() ? "deepspeed: the scheduler section has no type"
                              : "deepspeed: scheduler.type '" + type + "' is unknown",
         .where = file.keys.place("/scheduler/type"),
         .why = type.empty() ? "it says which schedule the section is of"
                             : "it is none of DeepSpeed's own; others it takes from Python",
         .hint = "one of " + join(types, ", ") + "; or no scheduler section, and --lr_scheduler_type"});
    return;
  }
  file.keys.check(scheduler->params, kSchedule);
  if (scheduler->type.starts_with("Warmup")) set_warmup(file, *scheduler);
  set_total(file, *scheduler);
  choose_schedule(file, *scheduler);
}

}  // namespace hftrain::arguments
