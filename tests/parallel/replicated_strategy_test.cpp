#include "hftrain/parallel/replicated_strategy.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <map>

#include "comm/rank_processes.h"
#include "hftrain/optim/optimizer.h"
#include "parallel/adamw.h"
#include "support/catch.h"

using namespace hftrain;
using parallel::Access;
using parallel::ParameterList;
using parallel::ReplicatedStrategy;
using parallel::StatePart;
using testing::adamw;
using testing::Rank;
using testing::RankBody;

namespace {

constexpr int64_t kJoinedRows = 12;  // of the joined batch

at::Tensor leaf(at::IntArrayRef sizes, const at::Generator& generator) {
  return at::randn(sizes, generator, at::kFloat).requires_grad_(true);
}

// Two layers, and a side branch that a batch may leave out. Big enough for several buckets of 1 MiB.
struct Net {
  explicit Net(uint64_t seed) {
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    first = leaf({1024, 300}, generator);
    bias = leaf({1024}, generator);
    side = leaf({1024, 300}, generator);
    second = leaf({5, 1024}, generator);
  }
  ParameterList list() const {
    return {{{"first", first, 0}, {"bias", bias, 1}, {"side", side, 0}, {"second", second, 0}}, {0.01, 0.0}};
  }
  // The mean over the rows of `x`.
  at::Tensor loss(const at::Tensor& x, bool with_side = true) const {
    at::Tensor hidden = x.matmul(first.t()) + bias;
    if (with_side) hidden = hidden + x.matmul(side.t());
    return at::relu(hidden).matmul(second.t()).square().sum() / (1000.0 * static_cast<double>(x.size(0)));
  }
  std::vector<at::Tensor> tensors() const { return {first, bias, side, second}; }

  at::Tensor first, bias, side, second;
};

at::Tensor joined_batch() {
  return at::randn({kJoinedRows, 300}, at::make_generator<at::CPUGeneratorImpl>(uint64_t{5}), at::kFloat);
}

at::Tensor part_of(const at::Tensor& batch, int index, int parts) {
  return batch.chunk(parts)[static_cast<size_t>(index)];
}

plan::StrategyPlan small_buckets() {
  plan::StrategyPlan plan;
  plan.name = "ddp";
  plan.bucket_cap_mb = 1;
  return plan;
}

void micro_batch(ReplicatedStrategy& strategy, const Net& net, const at::Tensor& x, bool synchronise,
                 bool with_side = true) {
  strategy.begin_micro_batch(synchronise);
  strategy.backward(net.loss(x, with_side));
}

// What one process computes on the whole batch.
std::vector<at::Tensor> reference_gradients(uint64_t seed, bool with_side = true) {
  const Net net(seed);
  net.loss(joined_batch(), with_side).backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& tensor : net.tensors()) gradients.push_back(tensor.grad());
  return gradients;
}

void check_gradients(const Net& net, const std::vector<at::Tensor>& expected) {
  const std::vector<at::Tensor> tensors = net.tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    INFO("parameter " << i);
    REQUIRE(tensors[i].grad().defined() == expected[i].defined());
    if (!expected[i].defined()) continue;
    const double scale = expected[i].abs().max().item<double>();
    CHECK((tensors[i].grad() - expected[i]).abs().max().item<double>() <= 1e-6 * std::max(scale, 1.0));
  }
}

void train_three_steps(const Rank& rank, plan::StrategyPlan plan, bool with_side) {
  const auto communicator = rank.connect();
  const Net net(1);
  ReplicatedStrategy strategy(plan, net.list(), adamw, *communicator);
  strategy.prepare();
  const at::Tensor x = part_of(joined_batch(), rank.rank(), rank.world_size());
  for (int step = 0; step < 3; ++step) {  // buckets are rebuilt after the first, the graph is known after it
    micro_batch(strategy, net, x, true, with_side);
    check_gradients(net, reference_gradients(1, with_side));
    strategy.zero_gradients();
  }
}

const RankBody kJoined("joined batch",
                       [](const Rank& rank) { train_three_steps(rank, small_buckets(), true); });

const RankBody kUnused("unused parameter", [](const Rank& rank) {
  plan::StrategyPlan plan = small_buckets();
  plan.find_unused_parameters = true;
  train_three_steps(rank, plan, false);
});

const RankBody kOthersUnused("other parameters unused", [](const Rank& rank) {
  plan::StrategyPlan plan = small_buckets();
  plan.find_unused_parameters = true;
  const auto communicator = rank.connect();
  const Net net(1);
  ReplicatedStrategy strategy(plan, net.list(), adamw, *communicator);
  strategy.prepare();
  const at::Tensor x = part_of(joined_batch(), rank.rank(), rank.world_size());
  for (const bool with_side : {true, false, false, true}) {
    micro_batch(strategy, net, x, true, with_side);
    check_gradients(net, reference_gradients(1, with_side));
    strategy.zero_gradients();
  }
});

const RankBody kStatic("static graph", [](const Rank& rank) {
  plan::StrategyPlan plan = small_buckets();
  plan.static_graph = true;
  train_three_steps(rank, plan, true);
});

const RankBody kAccumulated("accumulation", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const Net net(1);
  ReplicatedStrategy strategy(small_buckets(), net.list(), adamw, *communicator);
  strategy.prepare();
  const at::Tensor mine = part_of(joined_batch(), rank.rank(), rank.world_size());
  const int64_t gradient_bytes = strategy.state_bytes().parameters;
  for (int step = 0; step < 3; ++step) {
    const int64_t before = communicator->bytes_sent();
    micro_batch(strategy, net, part_of(mine, 0, 2), false);
    // No gradient; the new order of buckets is sent once, before the second update has gradients.
    CHECK(communicator->bytes_sent() - before < (step == 1 ? 4096 : 1));
    micro_batch(strategy, net, part_of(mine, 1, 2), true);
    const int64_t world = rank.world_size();
    CHECK(communicator->bytes_sent() - before - 2 * gradient_bytes * (world - 1) / world <
          (step == 1 ? 4096 : 8));
    for (const at::Tensor& tensor : net.tensors()) tensor.grad().div_(2);
    check_gradients(net, reference_gradients(1));
    strategy.zero_gradients();
  }
});

const RankBody kOwnWeights("different weights", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const Net net(10 + static_cast<uint64_t>(rank.rank())), of_rank_0(10);
  ReplicatedStrategy strategy(small_buckets(), net.list(), adamw, *communicator);
  strategy.prepare();
  for (size_t i = 0; i < 4; ++i) CHECK(at::equal(net.tensors()[i], of_rank_0.tensors()[i]));
});

const RankBody kSameWeights("equal weights", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const Net net(10);
  ReplicatedStrategy strategy(small_buckets(), net.list(), adamw, *communicator);
  strategy.prepare();
  CHECK(communicator->bytes_sent() < strategy.state_bytes().parameters / 10);
});

const RankBody kFrozen("frozen parameter", [](const Rank& rank) {
  const auto communicator = rank.connect();
  Net net(10 + static_cast<uint64_t>(rank.rank()));
  net.side.requires_grad_(false);
  ReplicatedStrategy strategy(small_buckets(), net.list(), adamw, *communicator);
  strategy.prepare();
  micro_batch(strategy, net, joined_batch(), true);
  CHECK_FALSE(net.side.grad().defined());
  strategy.step(1e-3);
  CHECK(at::equal(net.side, Net(10).side));
  CHECK_FALSE(at::equal(net.first, Net(10).first));
});

const RankBody kKilledInBackward("killed in backward", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const Net net(1);
  ReplicatedStrategy strategy(small_buckets(), net.list(), adamw, *communicator);
  strategy.prepare();
  micro_batch(strategy, net, joined_batch(), true);
  strategy.zero_gradients();
  strategy.begin_micro_batch(true);
  if (rank.rank() == 1) rank.die();
  try {
    strategy.backward(net.loss(joined_batch()));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    INFO(error.render());
    CHECK(error.code() == ExitCode::kWorkerLost);
    CHECK(std::string(error.what()).find("no word from rank 1") != std::string::npos);
  }
});

}  // namespace

TEST_CASE("gradients of several ranks are those of one process on the joined batch", "[process]") {
  require_success(testing::run_ranks("joined batch", 2));
  require_success(testing::run_ranks("joined batch", 3));
}

TEST_CASE("a parameter that no rank uses gets no gradient when unused ones are looked for", "[process]") {
  require_success(testing::run_ranks("unused parameter", 2));
}

TEST_CASE("parameters that are unused may change from update to update", "[process]") {
  require_success(testing::run_ranks("other parameters unused", 2));
}

TEST_CASE("a static graph gives the same gradients, from the first step on", "[process]") {
  require_success(testing::run_ranks("static graph", 2));
}

TEST_CASE("accumulation sends nothing before its last micro-batch and adds up to the whole", "[process]") {
  require_success(testing::run_ranks("accumulation", 2));
}

TEST_CASE("ranks that start with different weights continue with those of rank 0", "[process]") {
  require_success(testing::run_ranks("different weights", 3));
}

TEST_CASE("weights that are equal already are not sent", "[process]") {
  require_success(testing::run_ranks("equal weights", 2));
}

TEST_CASE("a frozen parameter is made equal, but neither reduced nor updated", "[process]") {
  require_success(testing::run_ranks("frozen parameter", 2));
}

TEST_CASE("a peer killed during the backward pass ends it at once with the peer's rank", "[process]") {
  const auto outcomes = testing::run_ranks("killed in backward", 2);
  INFO(outcomes[0].output);
  CHECK(outcomes[0].exit_status == 0);
  CHECK(outcomes[1].signal == 9);
}

TEST_CASE("one rank trains without a Reducer and sends nothing") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  const Net net(1);
  ReplicatedStrategy strategy({}, net.list(), adamw, *communicator);
  strategy.prepare();
  micro_batch(strategy, net, joined_batch(), true);
  check_gradients(net, reference_gradients(1));
  CHECK(communicator->bytes_sent() == 0);
}

TEST_CASE("clipping reports the norm before it and bounds what a step takes; 0 only measures") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  const Net net(1);
  ParameterList list = net.list();
  list.weight_decays = {0.0, 0.0};
  const auto descent = [](std::vector<optim::ParameterGroup> groups) {
    return optim::make_optimizer("sgd", std::move(groups), {});
  };
  ReplicatedStrategy strategy({}, list, descent, *communicator);
  strategy.prepare();
  micro_batch(strategy, net, joined_batch(), true);
  const auto moved = [&] {
    std::vector<at::Tensor> before;
    for (const at::Tensor& each : net.tensors()) before.push_back(each.detach().clone());
    strategy.step(1.0);
    double squares = 0;
    for (size_t i = 0; i < before.size(); ++i)
      squares += (net.tensors()[i].detach() - before[i]).to(at::kDouble).square().sum().item<double>();
    return std::sqrt(squares);
  };
  const double norm = strategy.clip_gradients(0, {}).item<double>();
  CHECK(moved() == Approx(norm).epsilon(1e-4));
  CHECK(strategy.clip_gradients(norm / 4, {}).item<double>() == Approx(norm));
  CHECK(moved() == Approx(norm / 4).epsilon(1e-4));
}

TEST_CASE("state is visited under full names, in model order, as whole tensors") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  const Net net(1);
  ReplicatedStrategy strategy({}, net.list(), adamw, *communicator);
  strategy.prepare();
  micro_batch(strategy, net, joined_batch(), true);
  strategy.step(1e-3);
  std::vector<std::string> names;
  strategy.visit_parameters(
      [&](const StatePart& part) {
        names.push_back(part.parameter);
        CHECK(part.state.empty());
        CHECK(part.shape == part.tensor.sizes().vec());
        CHECK(part.offset == std::vector<int64_t>(part.shape.size(), 0));
        CHECK(part.written_here);
      },
      Access::kRead);
  CHECK(names == std::vector<std::string>{"first", "bias", "side", "second"});
  std::map<std::string, std::vector<int64_t>> shapes;
  strategy.visit_optimizer_state(
      [&](const StatePart& part) {
        shapes[part.parameter + "." + part.state] = part.shape;
        if (part.state == "step") CHECK(part.tensor.item<float>() == 1.0f);
      },
      Access::kRead);
  CHECK(shapes.at("first.exp_avg") == net.first.sizes().vec());
  CHECK(shapes.at("bias.exp_avg_sq") == net.bias.sizes().vec());
  CHECK(shapes.at("second.step").empty());
  CHECK(shapes.size() == 12);
}

TEST_CASE("state bytes count what is held, gradients at their fullest") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  const Net net(1);
  ReplicatedStrategy strategy({}, net.list(), adamw, *communicator);
  strategy.prepare();
  const int64_t whole = 4 * (1024 * 300 * 2 + 1024 + 5 * 1024);
  CHECK(strategy.state_bytes().gradients == 0);
  micro_batch(strategy, net, joined_batch(), true);
  strategy.zero_gradients();
  CHECK(strategy.state_bytes().parameters == whole);
  CHECK(strategy.state_bytes().gradients == whole);
  CHECK(strategy.state_bytes().optimizer == 2 * whole + 4 * 4);
}

TEST_CASE("weight decay follows the group of each parameter") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  const Net net(1), before(1);
  ReplicatedStrategy strategy({}, net.list(), adamw, *communicator);
  strategy.prepare();
  for (const at::Tensor& tensor : net.tensors()) tensor.mutable_grad() = at::zeros(tensor.sizes());
  strategy.step(0.5);
  CHECK(at::equal(net.bias, before.bias));
  const at::NoGradGuard no_grad;
  CHECK(net.first.allclose(before.first * (1 - 0.5 * 0.01)));
}
