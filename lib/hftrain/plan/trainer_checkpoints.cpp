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
constexpr std::array<std::string_view, 10> kWrittenSchedules = {
    "linear",     "cosine",       "constant",           "constant_with_warmup",      "cosine_with_restarts",
    "polynomial", "inverse_sqrt", "cosine_with_min_lr", "cosine_warmup_with_min_lr", "warmup_stable_decay"};

template <typename Names>
bool is_written_of(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void check_for_trainer(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!plan.do_train || !plan.saving.for_trainer) return;
  const auto refuse = [&](const char* flag, const std::string& why, const std::string& hint) {
    problems.usage(
        "the Trainer could not go on from this run's checkpoints",
        input.parsed.origins.describe("save_for_trainer") + ", " + input.parsed.origins.describe(flag), why,
        hint + ", or leave --save_for_trainer out");
  };
  if (plan.saving.only_model)
    refuse("save_only_model", "they hold no optimizer's state", "leave --save_only_model out");
  if (!is_written_of(kWrittenOptimizers, plan.optimizer.name))
    refuse("optim", "optimizer.pt is written of AdamW, and this run's optimizer is " + plan.optimizer.name,
           "--optim adamw_torch_fused");
  if (!is_written_of(kWrittenSchedules, plan.schedule.name))
    refuse("lr_scheduler_type",
           "scheduler.pt is written of schedules by steps, which " + plan.schedule.name + " is not",
           "--lr_scheduler_type linear, cosine or another one");
  if (plan.strategy.state_dict != "full" && !plan.model.adapter)
    refuse("fsdp_state_dict_type", "their weights are in parts, and the Trainer opens whole ones",
           "--fsdp_state_dict_type FULL_STATE_DICT");
}

}  // namespace hftrain::plan
