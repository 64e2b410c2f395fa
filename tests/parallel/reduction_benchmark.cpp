// How long the reduction of a 124M model's gradients takes, and how much of it the backward pass hides. Not a
// test:
//   bin/test_parallel "[.benchmark]"
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cstdio>

#include "comm/rank_processes.h"
#include "hftrain/base/clock.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "parallel/gpt_size.h"
#include "support/catch.h"

using namespace hftrain;
using testing::kGptLayers;
using testing::kGptVocabulary;
using testing::kGptWidth;
using testing::Rank;
using testing::RankBody;

namespace {

constexpr int64_t kReductionTokens = 64;
constexpr int kReductionRepeats = 5;

// The matrices of GPT-2 124M, applied one after the other to a batch of tokens.
struct PlainMatrices {
  PlainMatrices() {
    add("wte", kGptVocabulary, kGptWidth);
    for (int64_t layer = 0; layer < kGptLayers; ++layer) {
      const std::string prefix = "h." + std::to_string(layer);
      add(prefix + ".attn.c_attn", kGptWidth, 3 * kGptWidth);
      add(prefix + ".attn.c_proj", kGptWidth, kGptWidth);
      add(prefix + ".mlp.c_fc", kGptWidth, 4 * kGptWidth);
      add(prefix + ".mlp.c_proj", 4 * kGptWidth, kGptWidth);
    }
  }
  void add(const std::string& name, int64_t rows, int64_t columns) {
    list.parameters.push_back({name, (at::randn({rows, columns}) * 0.01).requires_grad_(true), 0});
  }
  at::Tensor loss(at::Tensor x) const {
    for (size_t i = 1; i < list.parameters.size(); i += 4) {
      const auto weight = [&](size_t offset) { return list.parameters[i + offset].tensor; };
      x = x + x.matmul(weight(0)).narrow(1, 0, kGptWidth).matmul(weight(1));
      x = x + x.matmul(weight(2)).relu().matmul(weight(3));
    }
    return x.matmul(list.parameters[0].tensor.t()).square().mean();
  }
  parallel::ParameterList list{{}, {0.0}};
};

struct NoOptimizer final : optim::Optimizer {
  explicit NoOptimizer(std::vector<optim::ParameterGroup> groups) : Optimizer("none", std::move(groups)) {}
  void step(const optim::Pace&) override {}
  std::vector<std::string> state_names() const override { return {}; }
  at::Tensor state(size_t, const std::string&) const override { return {}; }
};

double median_milliseconds(const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < kReductionRepeats; ++i) {
    const double start = monotonic_seconds();
    work();
    seconds.push_back(monotonic_seconds() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kReductionRepeats / 2, seconds.end());
  return 1e3 * seconds[kReductionRepeats / 2];
}

void measure_buckets(comm::Communicator& communicator, int64_t cap_mb) {
  plan::StrategyPlan plan;
  plan.bucket_cap_mb = cap_mb;
  const PlainMatrices model;
  parallel::ReplicatedStrategy strategy(
      plan, model.list, [](auto groups) { return std::make_unique<NoOptimizer>(std::move(groups)); },
      communicator);
  strategy.prepare();
  const at::Tensor x = at::randn({kReductionTokens, kGptWidth});
  const auto backward = [&](bool synchronise) {
    strategy.zero_gradients();
    strategy.begin_micro_batch(synchronise);
    strategy.backward(model.loss(x));
  };
  backward(true);
  backward(true);  // buckets are in their final order from here
  const double alone = median_milliseconds([&] { backward(false); });
  const double both = median_milliseconds([&] { backward(true); });
  if (communicator.rank() == 0) {
    std::printf("buckets of %3ld MiB: forward and backward %.0f ms, with reduction %.0f ms\n", cap_mb, alone,
                both);
  }
}

const RankBody kReduction("reduction benchmark", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const at::Tensor flat = at::randn({124'000'000});
  communicator->all_reduce(flat, comm::Reduction::kSum);
  const double whole = median_milliseconds([&] { communicator->all_reduce(flat, comm::Reduction::kSum); });
  if (rank.rank() == 0) std::printf("all-reduce of 496 MB at once: %.0f ms\n", whole);
  for (const int64_t cap : {1, 5, 25, 100}) measure_buckets(*communicator, cap);
});

}  // namespace

TEST_CASE("reduction of a 124M model's gradients by two ranks", "[.benchmark]") {
  const auto outcomes = testing::run_ranks("reduction benchmark", 2);
  require_success(outcomes);
  std::fputs(outcomes[0].output.c_str(), stdout);
}
