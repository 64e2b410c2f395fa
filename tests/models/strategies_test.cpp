// Every head of every family under every strategy, with dropout: losses and parameters are those of plain data parallelism.
#include <ATen/Context.h>
#include <ATen/ops/scalar_tensor.h>

#include <map>
#include <set>

#include "comm/rank_processes.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "hftrain/parallel/sharded_strategy.h"
#include "hftrain/plan/units.h"
#include "models/golden_model.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

using testing::GoldenFile;
using testing::Rank;
using testing::RankBody;

// Two groups of ranks are left to whole runs (tests/apps/heads_and_strategies.py): a process makes them once.
struct Layout {
  std::string name;
  int stage = 0;  // 0: replicas
  bool recomputes = false;
  plan::WrapPolicy wraps = plan::WrapPolicy::kTransformer;
  std::string offload = "none";
};

std::vector<Layout> layouts_for(int world_size) {
  std::vector<Layout> all = {{.name = "stage 1", .stage = 1},
                             {.name = "stage 2, recomputed", .stage = 2, .recomputes = true},
                             {.name = "stage 3, recomputed", .stage = 3, .recomputes = true}};
  if (world_size > 2) return all;
  all.push_back({.name = "replicas, recomputed", .recomputes = true});
  all.push_back({.name = "stage 2", .stage = 2});
  all.push_back({.name = "stage 3", .stage = 3});
  all.push_back({.name = "stage 3, one unit", .stage = 3, .wraps = plan::WrapPolicy::kNone});
  all.push_back({.name = "stage 3, offloaded", .stage = 3, .offload = "cpu"});
  return all;
}

parallel::ParameterList trained_parameters(const Model& model) {
  parallel::ParameterList list{{}, {0.1, 0.0}};
  const auto& specs = model.architecture().parameters().parameters;
  for (size_t i = 0; i < specs.size(); ++i)
    list.parameters.push_back({specs[i].name, model.parameters()[i], specs[i].weight_decay ? 0u : 1u});
  return list;
}

// Each leaf's golden numbers, which a strategy that shards them has forgotten.
void fill_parts(parallel::Strategy& strategy, const GoldenFile& golden) {
  const at::NoGradGuard no_grad;
  strategy.visit_parameters(
      [&](const parallel::StatePart& part) {
        at::Tensor source = golden.tensor(part.parameter);
        for (size_t dim = 0; dim < part.offset.size(); ++dim) {
          const auto d = static_cast<int64_t>(dim);
          source = source.narrow(d, part.offset[dim], part.tensor.size(d));
        }
        part.tensor.copy_(source);
      },
      parallel::Access::kWrite);
}

std::unique_ptr<parallel::Strategy> strategy_for(const Layout& layout, const Model& model,
                                                 comm::Communicator& ranks) {
  const parallel::OptimizerMaker adamw = [](std::vector<optim::ParameterGroup> groups) {
    return optim::make_optimizer("adamw_torch_fused", std::move(groups), {});
  };
  if (layout.stage == 0)
    return std::make_unique<parallel::ReplicatedStrategy>(plan::StrategyPlan{}, trained_parameters(model),
                                                          adamw, ranks);
  plan::StrategyPlan plan;
  plan.stage = layout.stage;
  plan.mesh_shard = ranks.world_size();
  plan.offload_parameters = plan.offload_optimizer = layout.offload;
  plan.units = plan::make_units(model.architecture().parameters(),
                                {.policy = layout.wraps, .reshard = layout.stage == 3});
  return std::make_unique<parallel::ShardedStrategy>(plan, trained_parameters(model), model.units(),
                                                     at::kFloat, adamw, ranks, nullptr);
}

// Rows go round: every rank has another one.
Batch row_of(const Batch& whole, int64_t row) {
  Batch batch;
  for (const BatchColumn& column : kBatchColumns) {
    const at::Tensor& all = whole.*column.member;
    if (all.defined()) batch.*column.member = all.narrow(0, row % all.size(0), 1);
  }
  return batch;
}

struct Training {
  std::vector<double> losses;                    // of all ranks, by step
  std::map<std::string, at::Tensor> parameters;  // whole, on rank 0
};

Training train_three_steps(const Layout& layout, const std::string& name, comm::Communicator& ranks) {
  const GoldenFile golden("heads/" + name);
  const auto model =
      testing::golden_model(golden, {}, testing::golden_head(golden), testing::Dropout::kEverywhere);
  const auto strategy = strategy_for(layout, *model, ranks);
  fill_parts(*strategy, golden);
  strategy->prepare();
  nn::CheckpointingRunner checkpointing(strategy->unit_runner(), 1);
  nn::UnitRunner& runner = layout.recomputes ? checkpointing : strategy->unit_runner();
  at::Generator random = at::globalContext().defaultGenerator(at::kCPU);
  random.set_current_seed(static_cast<uint64_t>(20 + ranks.rank()));
  Training training;
  for (int step = 0; step < 3; ++step) {
    const Batch batch = row_of(testing::golden_batch(golden), ranks.rank() + step);
    const LossRequest request{.num_items = at::scalar_tensor(4, at::kFloat)};
    strategy->begin_micro_batch(true);
    const at::Tensor loss =
        model->forward(batch, runner, loss_objective(model->architecture(), batch, request)).loss;
    strategy->backward(loss);
    training.losses.push_back(ranks.sum(loss.item<double>()));
    strategy->clip_gradients(1.0, {});
    strategy->step(1e-2);
    strategy->zero_gradients();
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < model->parameters().size(); ++i) order.push_back(i);
  strategy->visit_whole_parameters(order, [&](size_t index, const at::Tensor& whole) {
    if (whole.defined()) training.parameters[model->parameter_names()[index]] = whole.detach().clone();
  });
  return training;
}

void check_same_training(const Training& found, const Training& expected) {
  CHECK(found.losses == expected.losses);
  REQUIRE(found.parameters.size() == expected.parameters.size());
  for (const auto& [name, tensor] : expected.parameters) {
    INFO(name);
    CHECK(found.parameters.at(name).equal(tensor));
  }
}

const RankBody kHeads("every head", [](const Rank& rank) {
  const auto ranks = rank.connect();
  std::set<testing::FamilyHead> trained;
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    trained.insert(testing::family_head(GoldenFile("heads/" + name)));
    const Training expected = train_three_steps({.name = "replicas"}, name, *ranks);
    CHECK(expected.losses.back() != expected.losses.front());
    for (const Layout& layout : layouts_for(rank.world_size())) {
      INFO(layout.name);
      check_same_training(train_three_steps(layout, name, *ranks), expected);
    }
  }
  testing::check_every_head(trained);
});

}  // namespace

TEST_CASE("Every head under every strategy trains as replicas do, to the last bit", "[process]") {
  const int world_size = GENERATE(2, 4);
  INFO(world_size << " ranks");
  require_success(testing::run_ranks("every head", world_size, {}, "shm"));
}

}  // namespace hftrain::models
