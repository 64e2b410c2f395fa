// optimizer and scheduler with the params of each type.
#include "hftrain/arguments/import/deepspeed_key_tables.h"

#include <algorithm>
#include <utility>

#include "hftrain/arguments/import/deepspeed_keys.h"
#include "hftrain/arguments/option_keys.h"

namespace hftrain::arguments {
namespace {

std::span<const SectionKey> params_of_optimizers();
std::span<const SectionKey> params_of_schedulers();

const SectionKey kOptimizerSection[] = {
    {.name = "type"},
    {.name = "params", .type = Type::kMapping, .possible = params_of_optimizers},
    {.name = "legacy_fusion",
     .type = Type::kBool,
     .support = accepted("there is one form of each optimizer"),
     .neutral = "false"},
};
const SectionKey kSchedulerSection[] = {
    {.name = "type"}, {.name = "params", .type = Type::kMapping, .possible = params_of_schedulers}};

constexpr Support kBelongsInClipping =
    refused("clipping is not an option of the optimizer", "gradient_clipping");

const SectionKey kLearningRate = {
    .name = "lr", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kBetas = {.name = "betas", .type = Type::kList, .automatic = true};
const SectionKey kEpsilon = {.name = "eps", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kDecay = {
    .name = "weight_decay", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kMaxNorm = {
    .name = "max_grad_norm", .type = Type::kFloat, .support = kBelongsInClipping, .neutral = "0"};

const SectionKey kAdam[] = {
    kLearningRate,
    kBetas,
    kEpsilon,
    kDecay,
    kMaxNorm,
    {.name = "torch_adam",
     .type = Type::kBool,
     .support = accepted("there is one AdamW"),
     .neutral = "false"},
    {.name = "adam_w_mode", .type = Type::kBool},
    {.name = "bias_correction",
     .type = Type::kBool,
     .support = refused("the moments are always corrected"),
     .neutral = "true"},
    {.name = "amsgrad", .type = Type::kBool, .support = deepspeed_tables::kNotHere, .neutral = "false"},
    {.name = "fp32_optimizer_states",
     .type = Type::kBool,
     .support = deepspeed_tables::kFullPrecision,
     .neutral = "true"},
};
const SectionKey kAdagrad[] = {kLearningRate,
                               kEpsilon,
                               kDecay,
                               kMaxNorm,
                               {.name = "lr_decay", .type = Type::kFloat, .range = at_least(0)}};
const SectionKey kLion[] = {kLearningRate, kBetas, kDecay, kMaxNorm};
const SectionKey kSgd[] = {kLearningRate,
                           kDecay,
                           kMaxNorm,
                           {.name = "momentum", .type = Type::kFloat, .range = at_least(0)},
                           {.name = "dampening", .type = Type::kFloat},
                           {.name = "nesterov", .type = Type::kBool}};
const SectionKey kRmsprop[] = {kLearningRate,
                               kEpsilon,
                               kDecay,
                               kMaxNorm,
                               {.name = "alpha", .type = Type::kFloat, .range = at_least(0)},
                               {.name = "momentum", .type = Type::kFloat, .range = at_least(0)},
                               {.name = "centered", .type = Type::kBool}};

const DeepSpeedOptimizer kOptimizers[] = {
    {"adam", "adamw_torch_fused", kAdam, 1e-3},
    {"adamw", "adamw_torch_fused", kAdam, 1e-3},
    {"adagrad", "adagrad", kAdagrad, 1e-2},
    {"lion", "lion_32bit", kLion, 1e-3},
    {"sgd", "sgd", kSgd, 1e-3},
    {"rmsprop", "rmsprop", kRmsprop, 1e-2},
};

// Those that the Trainer fills in where "auto" stands.
constexpr std::string_view kFilledIn[] = {"warmup_min_lr", "warmup_max_lr", "warmup_num_steps",
                                          "total_num_steps"};

// The options of the schedule, as --lr_scheduler_kwargs knows them, but for their words: DeepSpeed takes another one for
// log (check_warmup_type).
std::vector<SectionKey> params_of_schedule(const std::string& type) {
  std::vector<SectionKey> params;
  for (const Key& key : schedule_keys(type)) {
    const bool automatic =
        std::find(std::begin(kFilledIn), std::end(kFilledIn), key.name) != std::end(kFilledIn);
    params.push_back({.name = key.name, .type = key.type, .range = key.range, .automatic = automatic});
  }
  params.push_back({.name = "last_batch_iteration",
                    .type = Type::kInt,
                    .support = accepted("a resumed run continues its schedule"),
                    .neutral = "-1"});
  return params;
}

// Made when it is first asked for: the options are rows of another file.
const std::vector<DeepSpeedScheduler>& schedulers() {
  static const std::vector<DeepSpeedScheduler> all = [] {
    std::vector<DeepSpeedScheduler> rows;
    for (const auto& [type, same_as] :
         {std::pair{"WarmupLR", "constant_with_warmup"}, std::pair{"WarmupDecayLR", "linear"},
          std::pair{"WarmupCosineLR", "cosine"}, std::pair{"LRRangeTest", ""}, std::pair{"OneCycle", ""}})
      rows.push_back({type, params_of_schedule(type), same_as});
    return rows;
  }();
  return all;
}

std::vector<SectionKey> params_of_all(const auto& rows) {
  std::vector<SectionKey> params;
  for (const auto& row : rows) params.insert(params.end(), row.params.begin(), row.params.end());
  return params;
}

std::span<const SectionKey> params_of_optimizers() {
  static const std::vector<SectionKey> all = params_of_all(kOptimizers);
  return all;
}

std::span<const SectionKey> params_of_schedulers() {
  static const std::vector<SectionKey> all = params_of_all(schedulers());
  return all;
}

}  // namespace

namespace deepspeed_tables {

std::span<const SectionKey> optimizer() {
  return kOptimizerSection;
}

std::span<const SectionKey> scheduler() {
  return kSchedulerSection;
}

}  // namespace deepspeed_tables

const DeepSpeedOptimizer* deepspeed_optimizer(const std::string& type) {
  const auto* found = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                   [&](const DeepSpeedOptimizer& each) { return each.type == type; });
  return found == std::end(kOptimizers) ? nullptr : found;
}

const DeepSpeedScheduler* deepspeed_scheduler(const std::string& type) {
  const auto found = std::find_if(schedulers().begin(), schedulers().end(),
                                  [&](const DeepSpeedScheduler& each) { return each.type == type; });
  return found == schedulers().end() ? nullptr : &*found;
}

std::vector<std::string> deepspeed_scheduler_types() {
  std::vector<std::string> types;
  for (const DeepSpeedScheduler& each : schedulers()) types.emplace_back(each.type);
  return types;
}

}  // namespace hftrain::arguments
