// The contract of strategies: whatever the layout, losses and parameters are those of plain data parallelism.
#include "hftrain/parallel/sharded_strategy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include "comm/rank_processes.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/parallel/nvme_optimizer.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "parallel/unit_net.h"
#include "support/catch.h"

using namespace hftrain;
using parallel::Access;
using parallel::ReplicatedStrategy;
using parallel::ShardedStrategy;
using parallel::StatePart;
using parallel::Strategy;
using testing::Rank;
using testing::RankBody;
using testing::UnitNet;

namespace {

constexpr int64_t kRows = 12;  // of the batch of all ranks
constexpr uint64_t kSeed = 3;

std::unique_ptr<optim::Optimizer> adamw(std::vector<optim::ParameterGroup> groups) {
  return optim::make_optimizer("adamw_torch_fused", std::move(groups), {});
}

// A way to train: the plan, and what differs beside it.
struct Variant {
  std::string name;
  int stage = 3;
  bool one_unit = false;
  int replicate = 1;
  int64_t accumulation = 1;
  double max_norm = 0.05;
  bool checkpointing = false;
  at::ScalarType compute = at::kFloat;
  std::function<void(plan::StrategyPlan&)> change = [](plan::StrategyPlan&) {};
  int steps = 12;
};

plan::StrategyPlan plan_of(const Variant& variant, const UnitNet& net, int world_size) {
  plan::StrategyPlan plan;
  plan.stage = variant.stage;
  plan.mesh_replicate = variant.replicate;
  plan.mesh_shard = world_size / variant.replicate;
  const bool reshard = variant.stage == 3;
  plan.units = variant.one_unit ? net.one_unit(reshard) : net.plan_units(reshard);
  variant.change(plan);
  return plan;
}

// Copies the net's values into the strategy's parts, as a loader would.
void fill(Strategy& strategy, const std::map<std::string, at::Tensor>& values) {
  const at::NoGradGuard no_grad;
  strategy.visit_parameters(
      [&](const StatePart& part) {
        at::Tensor source = values.at(part.parameter);
        for (size_t dim = 0; dim < part.shape.size(); ++dim) {
          source = source.narrow(static_cast<int64_t>(dim), part.offset[dim],
                                 part.tensor.size(static_cast<int64_t>(dim)));
        }
        part.tensor.copy_(source);
      },
      Access::kWrite);
}

std::map<std::string, at::Tensor> values_of(uint64_t seed) {
  std::map<std::string, at::Tensor> values;
  for (const auto& parameter : UnitNet(seed).list().parameters) {
    values[parameter.name] = parameter.tensor.detach().clone();
  }
  return values;
}

std::unique_ptr<Strategy> sharded(const Variant& variant, const UnitNet& net,
                                  comm::Communicator& communicator) {
  const plan::StrategyPlan plan = plan_of(variant, net, communicator.world_size());
  const parallel::OptimizerMaker maker =
      plan.offload_optimizer == "nvme" ? parallel::on_nvme(adamw, plan.nvme) : adamw;
  auto strategy =
      std::make_unique<ShardedStrategy>(plan, net.list(), net.units(), variant.compute, maker, communicator);
  fill(*strategy, values_of(kSeed));
  return strategy;
}

std::unique_ptr<Strategy> replicated(const UnitNet& net, comm::Communicator& communicator) {
  return std::make_unique<ReplicatedStrategy>(plan::StrategyPlan{}, net.list(), adamw, communicator);
}

at::Tensor rows_of(const at::Tensor& batch, const comm::Communicator& communicator) {
  return batch.chunk(communicator.world_size())[static_cast<size_t>(communicator.rank())];
}

struct History {
  std::vector<double> losses, norms;
  std::map<std::string, at::Tensor> parameters;  // whole, on rank 0
};

std::map<std::string, at::Tensor> whole_parameters(Strategy& strategy, const UnitNet& net) {
  std::map<std::string, at::Tensor> result;
  const auto list = net.list().parameters;
  std::vector<size_t> order;
  for (size_t i = list.size(); i-- > 0;) order.push_back(i);
  strategy.visit_whole_parameters(order, [&](size_t index, const at::Tensor& whole) {
    if (whole.defined()) result[list[index].name] = whole.detach().clone();
  });
  return result;
}

History train(Strategy& strategy, const UnitNet& net, const Variant& variant,
              comm::Communicator& communicator) {
  strategy.prepare();
  nn::CheckpointingRunner checkpointing(strategy.unit_runner(), 1);
  nn::UnitRunner& runner = variant.checkpointing ? checkpointing : strategy.unit_runner();
  History history;
  for (int step = 0; step < variant.steps; ++step) {
    double sum = 0;
    for (int64_t micro = 0; micro < variant.accumulation; ++micro) {
      const auto seed = static_cast<uint64_t>(100 + step * variant.accumulation + micro);
      strategy.begin_micro_batch(micro + 1 == variant.accumulation);
      const at::Tensor loss =
          net.loss(rows_of(testing::token_batch(kRows, seed), communicator), runner, variant.compute);
      sum += loss.item<double>();
      strategy.backward(loss / static_cast<double>(variant.accumulation));
    }
    history.losses.push_back(communicator.sum(sum));
    history.norms.push_back(strategy.clip_gradients(variant.max_norm).item<double>());
    strategy.step(1e-2);
    strategy.zero_gradients();
  }
  history.parameters = whole_parameters(strategy, net);
  return history;
}

void check_close(const History& found, const History& expected, double tolerance) {
  for (size_t step = 0; step < expected.losses.size(); ++step) {
    INFO("step " << step);
    CHECK(found.losses[step] == Approx(expected.losses[step]).epsilon(tolerance));
    CHECK(found.norms[step] == Approx(expected.norms[step]).epsilon(10 * tolerance));
  }
  REQUIRE(found.parameters.size() == expected.parameters.size());
  for (const auto& [name, tensor] : expected.parameters) {
    INFO(name);
    CHECK(found.parameters.at(name).sizes() == tensor.sizes());
    CHECK((found.parameters.at(name) - tensor).abs().max().item<double>() <= 100 * tolerance);
  }
}

double tolerance_of(const Variant& variant) {
  return variant.compute == at::kFloat ? 1e-6 : 2e-2;
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const int stage : {1, 2, 3}) {
    const std::string name = "stage " + std::to_string(stage);
    all.push_back({.name = name, .stage = stage});
    all.push_back({.name = name + ", accumulation", .stage = stage, .accumulation = 3});
    all.push_back({.name = name + ", one unit", .stage = stage, .one_unit = true});
    all.push_back({.name = name + ", checkpointing", .stage = stage, .checkpointing = true});
    all.push_back({.name = name + ", bfloat16", .stage = stage, .accumulation = 2, .compute = at::kBFloat16});
    all.push_back({.name = name + ", hybrid", .stage = stage, .replicate = 2});
    all.push_back({.name = name + ", small ones whole",
                   .stage = stage,
                   .change = [](plan::StrategyPlan& plan) { plan.full_parameter_limit = 10; }});
  }
  all.push_back({.name = "units that stay", .accumulation = 2, .change = [](plan::StrategyPlan& plan) {
                   plan.units.front().reshard_after_forward = plan.units.back().reshard_after_forward = false;
                 }});
  all.push_back({.name = "prefetch both ways", .change = [](plan::StrategyPlan& plan) {
                   plan.forward_prefetch = true;
                   plan.backward_prefetch = "post";
                 }});
  all.push_back(
      {.name = "prefetch without limit", .checkpointing = true, .change = [](plan::StrategyPlan& plan) {
         plan.forward_prefetch = true;
         plan.limit_all_gathers = false;
       }});
  all.push_back(
      {.name = "no prefetch", .change = [](plan::StrategyPlan& plan) { plan.backward_prefetch = "none"; }});
  all.push_back({.name = "host offload", .change = [](plan::StrategyPlan& plan) {
                   plan.offload_parameters = plan.offload_optimizer = "cpu";
                 }});
  const auto nvme = [](const std::string& parameters, const std::string& optimizer) {
    return [=](plan::StrategyPlan& plan) {
      plan.offload_parameters = parameters;
      plan.offload_optimizer = optimizer;
      plan.nvme.parameters_path = plan.nvme.optimizer_path = std::filesystem::temp_directory_path();
    };
  };
  all.push_back({.name = "NVMe", .accumulation = 2, .change = nvme("nvme", "nvme")});
  all.push_back({.name = "NVMe, bfloat16", .compute = at::kBFloat16, .change = nvme("nvme", "nvme")});
  all.push_back({.name = "NVMe for parameters", .checkpointing = true, .change = nvme("nvme", "none")});
  all.push_back({.name = "NVMe for the optimizer", .stage = 2, .change = nvme("none", "nvme")});
  return all;
}

// Trains replicated and sharded in the same processes and compares.
void compare(const Variant& variant, const Rank& rank) {
  const auto communicator = rank.connect();
  const UnitNet expected_net(kSeed), net(kSeed);
  const auto reference = replicated(expected_net, *communicator);
  const History expected = train(*reference, expected_net, variant, *communicator);
  const auto strategy = sharded(variant, net, *communicator);
  check_close(train(*strategy, net, variant, *communicator), expected, tolerance_of(variant));
}

std::vector<RankBody> register_variants() {
  std::vector<RankBody> bodies;
  for (const Variant& variant : variants()) {
    bodies.emplace_back(variant.name, [variant](const Rank& rank) { compare(variant, rank); });
  }
  return bodies;
}
const std::vector<RankBody> kVariants = register_variants();

void run_stages(const std::string& suffix, int world_size) {
  for (const int stage : {1, 2, 3}) {
    const std::string name = "stage " + std::to_string(stage) + suffix;
    INFO(name << " on " << world_size << " ranks");
    require_success(testing::run_ranks(name, world_size));
  }
}

}  // namespace

TEST_CASE("every stage trains as replicas do, on one to four ranks", "[process]") {
  for (const int world_size : {1, 2, 3, 4}) run_stages("", world_size);
}

TEST_CASE("accumulated micro-batches add up to what replicas get in every stage", "[process]") {
  run_stages(", accumulation", 2);
}

TEST_CASE("one unit for the whole model trains as many do", "[process]") {
  run_stages(", one unit", 2);
}

TEST_CASE("blocks that are computed again find their parameters gathered", "[process]") {
  run_stages(", checkpointing", 2);
}

TEST_CASE("bfloat16 computes on narrow copies of float32 masters", "[process]") {
  run_stages(", bfloat16", 2);
}

TEST_CASE("shard groups with replicas train as one group", "[process]") {
  run_stages(", hybrid", 4);
}

TEST_CASE("parameters below the limit stay whole", "[process]") {
  run_stages(", small ones whole", 2);
}

TEST_CASE("prefetch, units that stay and host offload change no number", "[process]") {
  for (const std::string name :
       {"units that stay", "prefetch both ways", "prefetch without limit", "no prefetch", "host offload"}) {
    INFO(name);
    require_success(testing::run_ranks(name, 3));
  }
}

TEST_CASE("offload to NVMe changes no number", "[process]") {
  for (const std::string name : {"NVMe", "NVMe, bfloat16", "NVMe for parameters", "NVMe for the optimizer"}) {
    for (const int world_size : {1, 3}) {
      INFO(name << " on " << world_size << " ranks");
      require_success(testing::run_ranks(name, world_size));
    }
  }
}
