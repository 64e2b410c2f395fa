#include "hftrain/plan/step_moments.h"

#include <algorithm>
#include <numeric>

namespace hftrain::plan {
namespace {

int64_t all_kept(const StepActivations& step) {
  return std::accumulate(step.blocks.begin(), step.blocks.end(), step.ends,
                         [](int64_t sum, const BlockMemory& block) { return sum + block.kept; });
}

bool is_frozen(const RunPlan& plan, size_t parameter) {
  return std::ranges::binary_search(plan.model.frozen, static_cast<int>(parameter));
}

// Shares of all gradients, by where backward makes them.
struct GradientShares {
  std::vector<double> block;  // of each, with what stands between it and the one behind it
  double head = 0;            // behind the last block; of a tied matrix the whole of it
  double twice = 0;           // of a tied matrix, which gets its second gradient at the end
};

// Of each unit the numbers that it trains; a tied matrix counts where backward comes to it first.
std::vector<double> trained_of_units(const architectures::ParameterTable& table, const RunPlan& plan,
                                     double& twice) {
  std::vector<double> numbers(table.units.size(), 0);
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const architectures::ParameterSpec& spec = table.parameters[i];
    if (spec.buffer || is_frozen(plan, i)) continue;
    int unit = spec.unit;
    for (const architectures::TiedParameter& tied : table.tied) {
      if (tied.parameter != spec.name || tied.unit <= unit) continue;
      unit = tied.unit;
      twice = std::max(twice, static_cast<double>(spec.numel()));
    }
    numbers[static_cast<size_t>(unit)] += static_cast<double>(spec.numel());
  }
  return numbers;
}

GradientShares gradient_shares(const StepActivations& step, const architectures::ParameterTable& table,
                               const RunPlan& plan) {
  GradientShares shares{.block = std::vector<double>(step.blocks.size(), 0)};
  const std::vector<double> numbers = trained_of_units(table, plan, shares.twice);
  const double all = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (all == 0) return shares;
  shares.twice /= all;
  size_t blocks = 0;  // that were passed
  for (size_t unit = 0; unit < numbers.size(); ++unit) {
    if (table.units[unit].repeated) ++blocks;
    if (blocks == 0) continue;  // what is before them comes at the end
    const bool behind = unit + 1 == numbers.size() || blocks > step.blocks.size();
    (behind ? shares.head : shares.block[blocks - 1]) += numbers[unit] / all;
  }
  return shares;
}

}  // namespace

int64_t activations_together(const StepActivations& step) {
  int64_t whole = 0;
  for (const BlockMemory& block : step.blocks) whole = std::max(whole, block.whole);
  return all_kept(step) + whole + step.head;
}

StepPeak step_peak(const StepActivations& step, const architectures::ParameterTable& table,
                   const RunPlan& plan, const StepState& state) {
  // In the buckets of several ranks all gradients are there all the time, and else behind the first micro-batch of an update.
  const bool in_buckets = !plan.strategy.sharded() && plan.ranks.world_size > 1;
  const bool stay = in_buckets || plan.batch.accumulation_steps > 1;
  const GradientShares shares = gradient_shares(step, table, plan);
  const auto share_of = [](double share, int64_t bytes) {
    return static_cast<int64_t>(share * static_cast<double>(bytes));
  };
  StepPeak peak{.between = in_buckets ? state.gradients : 0};
  double there = 0, passed = 0;  // of gradients; of those, of parts that backward has left
  const auto moment = [&](int64_t activations) {
    peak.activations = std::max(peak.activations, activations);
    const int64_t gradients = stay ? state.gradients : share_of(there, state.gradients);
    peak.at_once = std::max(peak.at_once, activations + gradients + share_of(1 - passed, state.casts));
  };
  int64_t kept = all_kept(step);
  moment(kept + step.head);
  there += shares.head;
  for (size_t i = step.blocks.size(); i-- > 0;) {
    passed = there;
    there += shares.block[i];
    moment(kept + step.blocks[i].backward);
    kept -= step.blocks[i].kept;
  }
  passed = there = 1;
  moment(kept + share_of(shares.twice, state.gradients));
  peak.at_once = std::max(peak.at_once, state.gradients + state.update);
  return peak;
}

}  // namespace hftrain::plan
