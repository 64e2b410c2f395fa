#include <algorithm>
#include <cmath>

#include "hftrain/arguments/deepspeed_options.h"
#include "hftrain/arguments/smoke_variable.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

using arguments::DeepSpeedOptions;
using arguments::Sourced;

const std::optional<DeepSpeedOptions>& asked(const ResolveInput& input) {
  return input.parsed.arguments.parallel.deepspeed;
}

void check_length(const char* key, const Sourced<int64_t>& length, int64_t planned, Problems& problems) {
  if (!length || *length == planned) return;
  problems.usage(std::string(key) + " and the run differ", length.origin,
                 std::to_string(*length) + " against " + std::to_string(planned) + " updates",
                 "make them equal, or write \"auto\" in the file");
}

// A smoke run has fewer ranks than the file was written for, where any number of them makes its batch of such updates.
bool is_of_more_ranks(const ResolveInput& input, int64_t of_rank, int64_t copies) {
  const auto& accelerator = input.parsed.arguments.parallel.accelerator_config;
  const bool counts_ranks = !accelerator || !accelerator->split_batches;
  if (!arguments::is_of_smoke(input.environment) || !counts_ranks) return false;
  const int64_t total = *asked(input)->train_batch_size;
  const bool follows = asked(input)->micro_batch_follows || asked(input)->accumulation_follows;
  return total > of_rank * copies && (follows || total % of_rank == 0);
}

}  // namespace

LossScalePlan resolve_loss_scale(const ResolveInput& input) {
  LossScalePlan plan;
  if (!asked(input) || !asked(input)->loss_scale) return plan;
  const arguments::LossScaleOptions& scale = *asked(input)->loss_scale;
  plan.dynamic = scale.fixed == 0;
  plan.initial = plan.dynamic ? std::ldexp(1.0, static_cast<int>(scale.initial_power)) : scale.fixed;
  plan.growth_interval = scale.window;
  plan.hysteresis = scale.hysteresis;
  plan.refill = scale.consecutive_hysteresis;
  plan.minimum = scale.minimum;
  return plan;
}

void fit_train_batch_size(const ResolveInput& input, int64_t copies, BatchPlan& batch, Problems& problems) {
  if (!asked(input) || !asked(input)->train_batch_size) return;
  const int64_t total = *asked(input)->train_batch_size;
  int64_t &micro = batch.per_device_train, &steps = batch.accumulation_steps;
  if (asked(input)->micro_batch_follows) {
    micro = std::max<int64_t>(1, total / (steps * copies));
  } else if (asked(input)->accumulation_follows) {
    steps = std::max<int64_t>(1, total / (micro * copies));
  }
  // As the Trainer, which lets the file's numbers stand while the batch is searched.
  if (micro * steps * copies == total || input.parsed.arguments.batch.auto_find_batch_size) return;
  if (is_of_more_ranks(input, micro * steps, copies)) return;
  problems.usage("train_batch_size is not micro batch x accumulation steps x ranks",
                 asked(input)->train_batch_size.origin,
                 std::to_string(total) + " against " + std::to_string(micro) + " x " + std::to_string(steps) +
                     " x " + std::to_string(copies) + " = " + std::to_string(micro * steps * copies) + " (" +
                     input.parsed.origins.describe("per_device_train_batch_size") + ", " +
                     input.parsed.origins.describe("gradient_accumulation_steps") + ')',
                 "\"auto\", or numbers that fit " + std::to_string(copies) + " ranks");
}

void check_schedule_lengths(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!asked(input) || plan.steps.max_steps == 0) return;  // not known yet
  if (arguments::is_of_smoke(input.environment)) return;   // which is shorter
  check_length("total_num_steps", asked(input)->total_steps, plan.steps.max_steps, problems);
  check_length("warmup_num_steps", asked(input)->warmup_steps, plan.schedule.warmup_steps, problems);
}

}  // namespace hftrain::plan
