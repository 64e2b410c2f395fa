// What --save_for_trainer can write: what optimizer.pt and scheduler.pt have a form for.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

constexpr std::array<std::string_view, 3> kWrittenOptimizers = {"adamw_torch", "adamw_torch_fused",
                                                                "adamw_hf"};

}  // namespace

void check_for_trainer(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!plan.do_train || !plan.saving.for_trainer) return;
  const auto refuse_at = [&](const std::string& place, const std::string& why, const std::string& hint) {
    problems.usage("the Trainer could not go on from this run's checkpoints",
                   input.parsed.origins.describe("save_for_trainer") + ", " + place, why,
                   hint + ", or leave --save_for_trainer out");
  };
  const auto refuse = [&](const char* flag, const std::string& why, const std::string& hint) {
    refuse_at(input.parsed.origins.describe(flag), why, hint);
  };
  if (plan.saving.only_model)
    refuse("save_only_model", "they hold no optimizer's state", "leave --save_only_model out");
  if (std::ranges::count(kWrittenOptimizers, plan.optimizer.name) == 0)
    refuse("optim", "optimizer.pt is written of AdamW, and this run's optimizer is " + plan.optimizer.name,
           "--optim adamw_torch_fused");
  if (!goes_by_steps(plan.schedule.name))
    refuse("lr_scheduler_type",
           "scheduler.pt is written of schedules by steps, which " + plan.schedule.name + " is not",
           "--lr_scheduler_type linear, cosine or another one");
  if (plan.strategy.state_dict != "full")
    refuse_at(input.parsed.arguments.parallel.sharding.state_dict.origin,
              "their weights are in parts, and the Trainer opens whole ones",
              "have whole ones saved (FULL_STATE_DICT of FSDP, stage3_gather_16bit_weights_on_model_save of "
              "DeepSpeed)");
}

}  // namespace hftrain::plan
