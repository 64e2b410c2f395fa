#include "hftrain/arguments/option_keys.h"

#include <algorithm>

#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

const Key kCosine[] = {{.name = "num_cycles", .type = Type::kFloat}};
const Key kRestarts[] = {{.name = "num_cycles", .type = Type::kFloat, .range = at_least(0)}};
const Key kPolynomial[] = {{.name = "lr_end", .type = Type::kFloat, .range = at_least(0)},
                           {.name = "power", .type = Type::kFloat}};
const Key kInverseSqrt[] = {{.name = "timescale", .type = Type::kFloat, .optional = true, .range = above(0)}};
const Key kPlateau[] = {
    {.name = "mode", .words = {"min", "max"}},
    {.name = "factor", .type = Type::kFloat, .range = strictly_between(0, 1)},
    {.name = "patience", .type = Type::kInt, .range = at_least(0)},
    {.name = "threshold", .type = Type::kFloat},
    {.name = "threshold_mode", .words = {"rel", "abs"}},
    {.name = "cooldown", .type = Type::kInt, .range = at_least(0)},
    {.name = "min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "eps", .type = Type::kFloat, .range = at_least(0)},
};
const Key kCosineMin[] = {
    {.name = "num_cycles", .type = Type::kFloat},
    {.name = "min_lr", .type = Type::kFloat, .optional = true, .range = at_least(0)},
    {.name = "min_lr_rate", .type = Type::kFloat, .optional = true, .range = at_least(0)}};
const Key kCosineWarmupMin[] = {
    {.name = "num_cycles", .type = Type::kFloat},
    {.name = "min_lr", .type = Type::kFloat, .optional = true, .range = at_least(0)},
    {.name = "min_lr_rate", .type = Type::kFloat, .optional = true, .range = at_least(0)},
    {.name = "warmup_lr_rate", .type = Type::kFloat, .optional = true, .range = between(0, 1)}};
const Key kStableDecay[] = {
    {.name = "num_decay_steps", .type = Type::kInt, .range = at_least(0)},
    {.name = "num_stable_steps", .type = Type::kInt, .optional = true, .range = at_least(0)},
    {.name = "warmup_type", .words = {"linear", "cosine", "1-sqrt"}},
    {.name = "decay_type", .words = {"linear", "cosine", "1-sqrt"}},
    {.name = "min_lr_ratio", .type = Type::kFloat, .range = between(0, 1)},
    {.name = "num_cycles", .type = Type::kFloat},
};
const Key kGreedy[] = {
    {.name = "mode", .words = {"min", "max"}},
    {.name = "factor", .type = Type::kFloat, .range = strictly_between(0, 1)},
    {.name = "patience", .type = Type::kInt, .range = at_least(0)},
    {.name = "threshold", .type = Type::kFloat},
    {.name = "threshold_mode", .words = {"rel", "abs"}},
    {.name = "cooldown", .type = Type::kInt, .range = at_least(0)},
    {.name = "warmup", .type = Type::kInt, .range = at_least(0)},
    {.name = "min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "max_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "eps", .type = Type::kFloat, .range = at_least(0)},
    {.name = "verbose",
     .type = Type::kBool,
     .neutral = "false",
     .support = refused("the logged learning rate shows every change")},
    {.name = "smooth", .type = Type::kBool},
    {.name = "window_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "reset_start", .type = Type::kInt, .range = at_least(0)},
};

const Key kWarmupKeys[] = {
    {.name = "warmup_min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "warmup_max_lr", .type = Type::kFloat, .optional = true, .range = at_least(0)},
    {.name = "warmup_num_steps", .type = Type::kInt, .optional = true, .range = at_least(0)},
    {.name = "warmup_type", .words = {"log", "linear"}},
};
const Key kWarmupDecayKeys[] = {
    {.name = "warmup_min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "warmup_max_lr", .type = Type::kFloat, .optional = true, .range = at_least(0)},
    {.name = "warmup_num_steps", .type = Type::kInt, .optional = true, .range = at_least(0)},
    {.name = "warmup_type", .words = {"log", "linear"}},
    {.name = "total_num_steps", .type = Type::kInt, .optional = true, .range = at_least(1)},
};
const Key kWarmupCosineKeys[] = {
    {.name = "warmup_min_ratio", .type = Type::kFloat, .range = between(0, 1)},
    {.name = "cos_min_ratio", .type = Type::kFloat, .range = between(0, 1)},
    {.name = "warmup_num_steps", .type = Type::kInt, .optional = true, .range = at_least(0)},
    {.name = "warmup_type", .words = {"log", "linear"}},
    {.name = "total_num_steps", .type = Type::kInt, .optional = true, .range = at_least(1)},
};
const Key kRangeTestKeys[] = {
    {.name = "lr_range_test_min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "lr_range_test_step_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "lr_range_test_step_rate", .type = Type::kFloat},
    {.name = "lr_range_test_staircase", .type = Type::kBool},
};
const Key kOneCycleKeys[] = {
    {.name = "cycle_min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "cycle_max_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "decay_lr_rate", .type = Type::kFloat, .range = at_least(0)},
    {.name = "cycle_first_step_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "cycle_second_step_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "cycle_first_stair_count", .type = Type::kInt, .range = at_least(0)},
    {.name = "cycle_second_stair_count", .type = Type::kInt, .range = at_least(0)},
    {.name = "decay_step_size", .type = Type::kInt, .range = at_least(0)},
    {.name = "cycle_momentum", .type = Type::kBool},
    {.name = "cycle_min_mom", .type = Type::kFloat, .range = from_below(0, 1)},
    {.name = "cycle_max_mom", .type = Type::kFloat, .range = from_below(0, 1)},
    {.name = "decay_mom_rate", .type = Type::kFloat, .range = at_least(0)},
};

const Key kSgdKeys[] = {{.name = "momentum", .type = Type::kFloat, .range = at_least(0)},
                        {.name = "dampening", .type = Type::kFloat},
                        {.name = "weight_decay", .type = Type::kFloat, .range = at_least(0)},
                        {.name = "nesterov", .type = Type::kBool}};
const Key kAdagradKeys[] = {{.name = "lr_decay", .type = Type::kFloat, .range = at_least(0)},
                            {.name = "weight_decay", .type = Type::kFloat, .range = at_least(0)},
                            {.name = "eps", .type = Type::kFloat, .range = at_least(0)}};
const Key kRmspropKeys[] = {{.name = "momentum", .type = Type::kFloat, .range = at_least(0)},
                            {.name = "alpha", .type = Type::kFloat, .range = at_least(0)},
                            {.name = "eps", .type = Type::kFloat, .range = at_least(0)},
                            {.name = "weight_decay", .type = Type::kFloat, .range = at_least(0)},
                            {.name = "centered", .type = Type::kBool}};
const Key kAnyprecisionKeys[] = {
    {.name = "use_kahan_summation", .type = Type::kBool},
    {.name = "momentum_dtype", .words = {"float32", "bfloat16", "float16"}},
    {.name = "variance_dtype", .words = {"float32", "bfloat16", "float16"}},
    {.name = "compensation_buffer_dtype", .words = {"float32", "bfloat16", "float16"}}};

// The keys that a name of --lr_scheduler_type or --optim knows; names without a row know none.
struct NamedKeys {
  std::string_view name;
  std::span<const Key> keys;
};
const NamedKeys kKeysOfOptimizers[] = {{"sgd", kSgdKeys},
                                       {"adagrad", kAdagradKeys},
                                       {"rmsprop", kRmspropKeys},
                                       {"adamw_anyprecision", kAnyprecisionKeys}};
const NamedKeys kKeysOfSchedules[] = {
    {"cosine", kCosine},
    {"cosine_with_restarts", kRestarts},
    {"polynomial", kPolynomial},
    {"inverse_sqrt", kInverseSqrt},
    {"reduce_lr_on_plateau", kPlateau},
    {"cosine_with_min_lr", kCosineMin},
    {"cosine_warmup_with_min_lr", kCosineWarmupMin},
    {"warmup_stable_decay", kStableDecay},
    {"greedy", kGreedy},
    {"WarmupLR", kWarmupKeys},
    {"WarmupDecayLR", kWarmupDecayKeys},
    {"WarmupCosineLR", kWarmupCosineKeys},
    {"LRRangeTest", kRangeTestKeys},
    {"OneCycle", kOneCycleKeys},
};

std::span<const Key> keys_of(std::span<const NamedKeys> table, const std::string& name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const NamedKeys& each) { return each.name == name; });
  return found == table.end() ? std::span<const Key>() : found->keys;
}

// Optimizers whose groups have betas upstream: Adam and its kin, and Lion.
bool has_betas(const std::string& optimizer) {
  return optimizer.starts_with("adam") || optimizer.starts_with("lion");
}

// Of a value that says no way out of its own.
std::string way_out(const ValueError& error) {
  return error.hint.empty() ? "docs/optimizers_and_schedules.md has the keys and what they take" : error.hint;
}

class OptionCheck {
 public:
  OptionCheck(ParseOutcome& outcome, Diagnostics& problems)
      : outcome_(outcome), problems_(problems), schedule_(outcome.arguments.schedule.lr_scheduler_type) {}

  void run() {
    const Json written = outcome_.arguments.schedule.lr_scheduler_kwargs.value_or(Json::object());
    Result<Json> converted = convert_mapping(schedule_keys(schedule_), written);
    if (const auto* error = std::get_if<ValueError>(&converted)) {
      return problem("lr_scheduler_kwargs: " + error->what, "the schedule is " + schedule_, way_out(*error));
    }
    const Json& options = std::get<Json>(converted);
    if (outcome_.arguments.schedule.lr_scheduler_kwargs)
      outcome_.arguments.schedule.lr_scheduler_kwargs = options;
    check_support(options);
    check_required(options);
    check_polynomial(options);
    check_one_cycle(options);
  }

 private:
  static bool has(const Json& options, const char* key) {
    return options.contains(key) && !options[key].is_null();
  }

  void check_support(const Json& options) {
    for (const Key& key : schedule_keys(schedule_)) {
      const std::string name(key.name);
      if (key.support.status == Support::kImplemented || !has(options, name.c_str())) continue;
      if (options[name] == neutral_value(key.type, key.neutral)) continue;
      problem("lr_scheduler_kwargs: key '" + name + "' is not supported", std::string(key.support.reason),
              "");
    }
  }

  void check_required(const Json& options) {
    if (schedule_ == "warmup_stable_decay" && !has(options, "num_decay_steps")) {
      problem("warmup_stable_decay needs num_decay_steps",
              "the others of its updates are warm-up and stable ones",
              "--lr_scheduler_kwargs '{\"num_decay_steps\": N}'");
    }
    const bool minimum = schedule_ == "cosine_with_min_lr" || schedule_ == "cosine_warmup_with_min_lr";
    if (minimum && has(options, "min_lr") == has(options, "min_lr_rate")) {
      problem(schedule_ + " needs one of min_lr and min_lr_rate",
              has(options, "min_lr") ? "both are given" : "none is given",
              "--lr_scheduler_kwargs '{\"min_lr_rate\": 0.1}'");
    }
  }

  // The rates of OneCycle have no default. Its momentum is the first beta, which not every optimizer has:
  // then it does not cycle, as in DeepSpeed.
  void check_one_cycle(const Json& options) {
    if (schedule_ != "OneCycle") return;
    const std::string& optimizer = outcome_.arguments.optimizer.optim;
    const bool cycles = !has(options, "cycle_momentum") || options["cycle_momentum"] == true;
    if (cycles && !has_betas(optimizer)) {
      if (!outcome_.arguments.schedule.lr_scheduler_kwargs)
        outcome_.arguments.schedule.lr_scheduler_kwargs = Json::object();
      (*outcome_.arguments.schedule.lr_scheduler_kwargs)["cycle_momentum"] = false;
      outcome_.notes.push_back(
          {.severity = Diagnostic::Severity::kWarning,
           .what = "OneCycle: the momentum does not cycle, for " + optimizer + " has no betas",
           .where = where(),
           .why = "",
           .hint = "--optim adamw_torch_fused, or \"cycle_momentum\": false"});
    }
    for (const char* key : {"cycle_min_lr", "cycle_max_lr"}) {
      if (!has(options, key))
        problem(std::string("OneCycle needs ") + key, "the rate goes from the one to the other and back",
                std::string(1, '"') + key + "\": RATE in the file's params or in --lr_scheduler_kwargs");
    }
  }

  void check_polynomial(const Json& options) {
    if (schedule_ != "polynomial") return;
    const double end = options.value("lr_end", 1e-7);
    const double start = outcome_.arguments.optimizer.learning_rate;
    if (end >= start) {
      problem("the polynomial schedule cannot end at lr_end " + to_yaml(end),
              "the learning rate starts at " + to_yaml(start), "an lr_end below the learning rate");
    }
  }

  std::string where() const {
    return outcome_.origins.describe(outcome_.origins.is_given("lr_scheduler_kwargs") ? "lr_scheduler_kwargs"
                                                                                      : "lr_scheduler_type");
  }
  void problem(std::string what, std::string why, std::string hint) {
    problems_.push_back(
        {.what = std::move(what), .where = where(), .why = std::move(why), .hint = std::move(hint)});
  }

  ParseOutcome& outcome_;
  Diagnostics& problems_;
  const std::string& schedule_;
};

// What optim_args holds, as text.
Json written_options(const ParseOutcome& outcome, Diagnostics& problems) {
  const std::string text = trim(outcome.arguments.optimizer.optim_args.value_or(""));
  Json options = Json::object();
  if (text.empty()) return options;
  for (const std::string& part : split(text, ',')) {
    const auto pairs = option_pairs(part);
    if (pairs.empty()) {
      problems.push_back({.what = "optim_args: '" + trim(part) + "' is not key=value",
                          .where = outcome.origins.describe("optim_args"),
                          .why = "options of the optimizer are NAME=VALUE, with commas between them",
                          .hint = "--optim_args " + trim(part) + "=VALUE"});
    } else if (options.contains(pairs[0].first)) {
      problems.push_back({.what = "optim_args: '" + pairs[0].first + "' is given twice",
                          .where = outcome.origins.describe("optim_args"),
                          .why = "an option has one value",
                          .hint = "keep one of the two"});
    } else {
      options[pairs[0].first] = pairs[0].second;
    }
  }
  return options;
}

void check_nesterov(const Json& options, const ParseOutcome& outcome, Diagnostics& problems) {
  if (!options.value("nesterov", false)) return;
  if (options.value("momentum", 0.0) > 0 && options.value("dampening", 0.0) == 0) return;
  problems.push_back({.what = "optim_args: nesterov needs momentum and no dampening",
                      .where = outcome.origins.describe("optim_args"),
                      .why = "momentum is " + to_yaml(options.value("momentum", 0.0)) + ", dampening " +
                             to_yaml(options.value("dampening", 0.0)),
                      .hint = "momentum=0.9,nesterov=true"});
}

// It is the decay of the group that decays, as --weight_decay is.
void take_weight_decay(const Json& options, ParseOutcome& outcome, Diagnostics& problems) {
  if (!options.contains("weight_decay")) return;
  const double written = options["weight_decay"].get<double>();
  double& decay = outcome.arguments.optimizer.weight_decay;
  if (decay == written) return;
  if (outcome.origins.is_chosen("weight_decay")) {
    problems.push_back(
        {.what = "optim_args: weight_decay and --weight_decay say two different things",
         .where = outcome.origins.describe("optim_args") + ", " + outcome.origins.describe("weight_decay"),
         .why = to_yaml(written) + " against " + to_yaml(decay),
         .hint = "keep --weight_decay"});
    return;
  }
  decay = written;
  outcome.origins.set("weight_decay", outcome.origins.of("optim_args"));
  outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kNote,
       .what = "weight_decay " + to_yaml(written) + " of optim_args acts as --weight_decay",
       .where = outcome.origins.describe("optim_args"),
       .why = "the Trainer passes over it: its parameter groups have a decay of their own",
       .hint = "--weight_decay, and nothing in optim_args, where its numbers are wanted"});
}

}  // namespace

std::span<const Key> schedule_keys(const std::string& schedule) {
  return keys_of(kKeysOfSchedules, schedule);
}
std::span<const Key> optimizer_keys(const std::string& optimizer) {
  return keys_of(kKeysOfOptimizers, optimizer);
}

std::vector<std::pair<std::string, std::string>> option_pairs(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    pairs.emplace_back(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
  return pairs;
}

Json optimizer_options(const OptimizerArguments& optimizer) {
  Json written = Json::object();
  for (const auto& [key, value] : option_pairs(optimizer.optim_args.value_or(""))) written[key] = value;
  const Result<Json> converted = convert_mapping(optimizer_keys(optimizer.optim), written);
  const Json* options = std::get_if<Json>(&converted);
  return options != nullptr ? *options : Json::object();
}

void check_schedule_options(ParseOutcome& outcome, Diagnostics& problems) {
  OptionCheck(outcome, problems).run();
}

void check_optimizer_options(ParseOutcome& outcome, Diagnostics& problems) {
  const OptimizerArguments& optimizer = outcome.arguments.optimizer;
  const Json options = written_options(outcome, problems);
  const Result<Json> converted = convert_mapping(optimizer_keys(optimizer.optim), options);
  if (const auto* error = std::get_if<ValueError>(&converted)) {
    problems.push_back({.what = "optim_args: " + error->what,
                        .where = outcome.origins.describe("optim_args"),
                        .why = "the optimizer is " + optimizer.optim,
                        .hint = way_out(*error)});
    return;
  }
  check_nesterov(std::get<Json>(converted), outcome, problems);
  take_weight_decay(std::get<Json>(converted), outcome, problems);
}

}  // namespace hftrain::arguments
