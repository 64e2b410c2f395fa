// Step time of sharded strategies against replicas on two ranks, the matrices of GPT-2 124M, in alternating
// runs. Not a test:
//   bin/test_parallel "[.strategies]"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cstdio>

#include "comm/rank_processes.h"
#include "hftrain/base/clock.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "hftrain/parallel/sharded_strategy.h"
#include "parallel/adamw.h"
#include "parallel/gpt_size.h"
#include "support/catch.h"

using namespace hftrain;
using parallel::Strategy;
using testing::adamw;
using testing::kGptLayers;
using testing::kGptVocabulary;
using testing::kGptWidth;
using testing::Rank;
using testing::RankBody;

namespace {

constexpr int64_t kStepTokens = 256;
constexpr int kStepRepeats = 7;

// Blocks of four matrices and a head, each a unit.
struct UnitMatrices {
  UnitMatrices() {
    for (int layer = 0; layer < kGptLayers; ++layer) {
      const std::string prefix = "block." + std::to_string(layer);
      units.push_back({layer, prefix, {}, true, false});
      add(prefix + ".qkv", kGptWidth, 3 * kGptWidth);
      add(prefix + ".out", kGptWidth, kGptWidth);
      add(prefix + ".up", kGptWidth, 4 * kGptWidth);
      add(prefix + ".down", 4 * kGptWidth, kGptWidth);
    }
    units.push_back({static_cast<int>(kGptLayers), "head", {}, false, false});
    add("wte", kGptVocabulary, kGptWidth);
  }
  void add(const std::string& name, int64_t rows, int64_t columns) {
    units.back().parameters.push_back(static_cast<int>(list.parameters.size()));
    list.parameters.push_back({name, (at::randn({rows, columns}) * 0.01).requires_grad_(true), 0});
  }
  at::Tensor loss(at::Tensor x, nn::UnitRunner& runner) const {
    for (const nn::Unit& unit : units) {
      std::vector<at::Tensor> used;
      for (const int i : unit.parameters) used.push_back(list.parameters[static_cast<size_t>(i)].tensor);
      x = runner.run(unit, used, {x}, [](at::TensorList p, at::TensorList in) {
        if (p.size() == 1) return std::vector<at::Tensor>{in[0].matmul(p[0].t()).square().mean()};
        const at::Tensor mixed = in[0] + in[0].matmul(p[0]).narrow(1, 0, kGptWidth).matmul(p[1]);
        return std::vector<at::Tensor>{mixed + mixed.matmul(p[2]).relu().matmul(p[3])};
      })[0];
    }
    return x;
  }
  parallel::ParameterList list{{}, {0.0}};
  std::vector<nn::Unit> units;
};

plan::StrategyPlan plan_of_stage(int stage, const UnitMatrices& model, int world_size) {
  plan::StrategyPlan plan;
  plan.stage = stage;
  plan.mesh_shard = world_size;
  for (const nn::Unit& unit : model.units) plan.units.push_back({unit.name, unit.parameters, stage == 3});
  return plan;
}

double step_seconds(Strategy& strategy, const UnitMatrices& model, const at::Tensor& x) {
  const double start = monotonic_seconds();
  strategy.begin_micro_batch(true);
  strategy.backward(model.loss(x, strategy.unit_runner()));
  strategy.clip_gradients(1.0, {});
  strategy.step(1e-4);
  strategy.zero_gradients();
  return monotonic_seconds() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Rank& rank, int stage) {
  const auto communicator = rank.connect();
  const UnitMatrices whole, cut;
  parallel::ReplicatedStrategy ddp({}, whole.list, adamw, *communicator);
  parallel::ShardedStrategy sharded(plan_of_stage(stage, cut, rank.world_size()), cut.list, cut.units,
                                    at::kFloat, adamw, *communicator, nullptr);
  sharded.visit_parameters([](const parallel::StatePart& part) { part.tensor.normal_(0, 0.01); },
                           parallel::Access::kWrite);
  ddp.prepare();
  sharded.prepare();
  const at::Tensor x = at::randn({kStepTokens, kGptWidth});
  std::vector<double> base, own, ratios;
  for (int i = 0; i < kStepRepeats + 2; ++i) {
    const double a = step_seconds(ddp, whole, x), b = step_seconds(sharded, cut, x);
    if (i < 2) continue;
    base.push_back(a);
    own.push_back(b);
    ratios.push_back(b / a);
  }
  if (rank.rank() == 0) {
    std::printf("stage %d: ddp %.0f ms, sharded %.0f ms, median ratio %.3f\n", stage, 1e3 * median(base),
                1e3 * median(own), median(ratios));
  }
}

const RankBody kStage1("step time of stage 1", [](const Rank& rank) { measure(rank, 1); });
const RankBody kStage2("step time of stage 2", [](const Rank& rank) { measure(rank, 2); });
const RankBody kStage3("step time of stage 3", [](const Rank& rank) { measure(rank, 3); });

}  // namespace

TEST_CASE("step time of sharded strategies against replicas", "[.strategies]") {
  for (const std::string stage : {"1", "2", "3"}) {
    const auto outcomes = testing::run_ranks("step time of stage " + stage, 2, {}, "shm");
    require_success(outcomes);
    std::fputs(outcomes[0].output.c_str(), stdout);
  }
}
