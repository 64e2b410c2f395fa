// The contract of strategies: whatever the layout, losses and parameters are those of plain data parallelism.
#include "hftrain/parallel/sharded_strategy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "comm/rank_processes.h"
#include "hftrain/comm/mesh.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/optim/gradient_scaler.h"
#include "hftrain/parallel/nvme_optimizer.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "hftrain/parallel/shard_unit.h"
#include "hftrain/parallel/sharded_parameter.h"
#include "parallel/adamw.h"
#include "parallel/late_fetches.h"
#include "parallel/unit_net.h"
#include "support/catch.h"

using namespace hftrain;
using parallel::Access;
using parallel::ReplicatedStrategy;
using parallel::ShardedStrategy;
using parallel::StatePart;
using parallel::Strategy;
using testing::adamw;
using testing::Rank;
using testing::RankBody;
using testing::UnitNet;

namespace {

constexpr int64_t kBatchRows = 12;  // of the batch of all ranks
constexpr uint64_t kSeed = 3;

// A way to train: the plan, and what differs beside it.
struct Variant {
  std::string name;
  int stage = 3;
  bool one_unit = false;
  int replicate = 1;
  int64_t accumulation = 1;
  double max_norm = 0.05;
  bool checkpointing = false;
  bool shares_memory = false;  // an output goes into many later units
  bool drops = false;        // and is all that leads to its unit, while the second rank drops the later ones
  bool drops_first = false;  // the second rank drops the first unit that learns
  at::ScalarType compute = at::kFloat;
  std::function<void(plan::StrategyPlan&)> change = [](plan::StrategyPlan&) {};
  int steps = 12;
  bool changes_no_bit = false;  // against the same strategy without `change`
  bool late_copies = false;     // of gradients to the host, as a busy device's
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

// What is on its way is not a number to whoever reads it before waiting for it; what is fetched comes when it is used.
class LateCopies final : public testing::LateFetches {
 public:
  void start(const at::Tensor& there, const at::Tensor& source) override {
    there.fill_(std::numeric_limits<double>::quiet_NaN());
    under_way_.emplace_back(there, source.clone());
  }
  Mark mark() override { return first_ + static_cast<Mark>(under_way_.size()); }
  void wait(Mark mark) override {
    const at::NoGradGuard no_grad;
    for (; first_ < mark; ++first_, under_way_.pop_front())
      under_way_.front().first.copy_(under_way_.front().second);
  }

 private:
  std::deque<std::pair<at::Tensor, at::Tensor>> under_way_;
  Mark first_ = 0;  // of those under way, counted from the first ever
};

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
      std::make_unique<ShardedStrategy>(plan, net.list(), net.units(), variant.compute, maker, communicator,
                                        variant.late_copies ? std::make_unique<LateCopies>() : nullptr);
  fill(*strategy, values_of(kSeed));
  return strategy;
}

std::unique_ptr<Strategy> replicated(const UnitNet& net, comm::Communicator& communicator,
                                     bool finds_unused = false) {
  plan::StrategyPlan plan;
  plan.find_unused_parameters = finds_unused;
  return std::make_unique<ReplicatedStrategy>(plan, net.list(), adamw, communicator);
}

at::Tensor rows_of(const at::Tensor& batch, const comm::Communicator& communicator) {
  return batch.chunk(communicator.world_size())[static_cast<size_t>(communicator.rank())];
}

struct History {
  std::vector<double> losses, norms;
  std::map<std::string, at::Tensor> parameters;   // whole, on rank 0
  std::map<std::string, at::Tensor> before_last;  // the same before the last update
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
          net.loss(rows_of(testing::token_batch(kBatchRows, seed), communicator), runner, variant.compute);
      sum += loss.item<double>();
      strategy.backward(loss / static_cast<double>(variant.accumulation));
    }
    history.losses.push_back(communicator.sum(sum));
    history.norms.push_back(strategy.clip_gradients(variant.max_norm, {}).item<double>());
    if (step + 1 == variant.steps) history.before_last = whole_parameters(strategy, net);
    strategy.step(1e-2);
    strategy.zero_gradients();
  }
  history.parameters = whole_parameters(strategy, net);
  return history;
}

double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

// Parameters may be as far apart as `share` of what the last update moved them, so that a lost, doubled or
// wrong update of any one is seen.
void check_close(const History& found, const History& expected, double tolerance, double share,
                 const std::set<std::string>& still) {
  for (size_t step = 0; step < expected.losses.size(); ++step) {
    INFO("step " << step);
    CHECK(found.losses[step] == Approx(expected.losses[step]).epsilon(tolerance));
    CHECK(found.norms[step] == Approx(expected.norms[step]).epsilon(10 * tolerance));
  }
  REQUIRE(found.parameters.size() == expected.parameters.size());
  for (const auto& [name, tensor] : expected.parameters) {
    INFO(name);
    CHECK(found.parameters.at(name).sizes() == tensor.sizes());
    const double moved = largest(tensor - expected.before_last.at(name));
    INFO("moved by " << moved);
    CHECK((still.contains(name) ? moved == 0 : moved > 1e-5));
    CHECK(largest(found.parameters.at(name) - tensor) <= share * moved);
  }
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const int stage : {1, 2, 3}) {
    const std::string name = "stage " + std::to_string(stage);
    all.push_back({.name = name, .stage = stage});
    all.push_back({.name = name + ", accumulation", .stage = stage, .accumulation = 3});
    all.push_back({.name = name + ", one unit", .stage = stage, .one_unit = true});
    all.push_back({.name = name + ", checkpointing", .stage = stage, .checkpointing = true});
    all.push_back({.name = name + ", one output for many", .stage = stage, .shares_memory = true});
    all.push_back({.name = name + ", one output for many, checkpointing",
                   .stage = stage,
                   .accumulation = 2,
                   .checkpointing = true,
                   .shares_memory = true});
    all.push_back({.name = name + ", dropped layers", .stage = stage, .drops = true});
    all.push_back({.name = name + ", a dropped first layer", .stage = stage, .drops_first = true});
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
  for (const int stage : {1, 2})
    all.push_back({.name = "stage " + std::to_string(stage) + ", late fetches",
                   .stage = stage,
                   .change =
                       [](plan::StrategyPlan& plan) {
                         plan.offload_optimizer = "cpu";
                         plan.forward_prefetch = true;
                       },
                   .changes_no_bit = true,
                   .late_copies = true});
  for (const int64_t accumulation : {1, 3}) {
    all.push_back(
        {.name = "host offload with late copies, accumulation " + std::to_string(accumulation),
         .accumulation = accumulation,
         .change = [](plan::StrategyPlan& plan) { plan.offload_parameters = plan.offload_optimizer = "cpu"; },
         .changes_no_bit = true,
         .late_copies = true});
  }
  const auto nvme = [](const std::string& parameters, const std::string& optimizer) {
    return [=](plan::StrategyPlan& plan) {
      plan.offload_parameters = parameters;
      plan.offload_optimizer = optimizer;
      plan.nvme.parameters_path = plan.nvme.optimizer_path = std::filesystem::temp_directory_path();
    };
  };
  all.push_back({.name = "NVMe", .accumulation = 2, .change = nvme("nvme", "nvme"), .changes_no_bit = true});
  all.push_back({.name = "NVMe, bfloat16",
                 .compute = at::kBFloat16,
                 .change = nvme("nvme", "nvme"),
                 .changes_no_bit = true});
  all.push_back({.name = "NVMe for parameters",
                 .checkpointing = true,
                 .change = nvme("nvme", "none"),
                 .changes_no_bit = true});
  all.push_back(
      {.name = "NVMe for the optimizer", .stage = 2, .change = nvme("none", "nvme"), .changes_no_bit = true});
  return all;
}

void check_same(const History& found, const History& expected) {
  CHECK(found.losses == expected.losses);
  CHECK(found.norms == expected.norms);
  REQUIRE(found.parameters.size() == expected.parameters.size());
  for (const auto& [name, tensor] : expected.parameters) {
    INFO(name);
    CHECK(at::equal(found.parameters.at(name), tensor));
  }
}

// Trains replicated and sharded in the same processes and compares.
void compare(const Variant& variant, const Rank& rank) {
  const auto communicator = rank.connect(std::chrono::seconds(60));  // ranks out of step wait for each other
  UnitNet expected_net(kSeed), net(kSeed);
  if (variant.shares_memory) expected_net.share_memory(), net.share_memory();
  const bool second = communicator->rank() == 1;
  if (variant.drops) expected_net.encode(second), net.encode(second);
  if (variant.drops_first) expected_net.freeze_table(second), net.freeze_table(second);
  if (variant.changes_no_bit) {
    Variant plain = variant;
    plain.change = Variant{}.change;
    plain.late_copies = false;
    const auto reference = sharded(plain, expected_net, *communicator);
    const History expected = train(*reference, expected_net, plain, *communicator);
    const auto strategy = sharded(variant, net, *communicator);
    return check_same(train(*strategy, net, variant, *communicator), expected);
  }
  const auto reference = replicated(expected_net, *communicator, variant.drops || variant.drops_first);
  const History expected = train(*reference, expected_net, variant, *communicator);
  const auto strategy = sharded(variant, net, *communicator);
  const bool whole = variant.compute == at::kFloat;
  check_close(
      train(*strategy, net, variant, *communicator), expected, whole ? 1e-6 : 2e-2, whole ? 0.01 : 0.25,
      variant.drops_first ? std::set<std::string>{"frozen", "table"} : std::set<std::string>{"frozen"});
}

// Where sums are taken in rank order, the parameters of all stages are those of replicas to the last bit.
const RankBody kBitwise("bitwise", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const UnitNet expected_net(kSeed);
  const auto reference = replicated(expected_net, *communicator);
  const History expected = train(*reference, expected_net, {.name = "ddp", .steps = 50}, *communicator);
  for (const int64_t whole : {0, 10}) {  // numbers of a parameter that is not cut
    for (const int stage : {1, 2, 3}) {
      INFO("stage " << stage << ", whole below " << whole);
      const auto change = [whole](plan::StrategyPlan& plan) { plan.full_parameter_limit = whole; };
      const Variant variant{.name = "", .stage = stage, .change = change, .steps = 50};
      const UnitNet net(kSeed);
      const auto strategy = sharded(variant, net, *communicator);
      check_same(train(*strategy, net, variant, *communicator), expected);
    }
  }
});

void backward_own_rows(Strategy& strategy, const UnitNet& net, comm::Communicator& communicator,
                       bool last = true) {
  strategy.begin_micro_batch(last);
  strategy.backward(
      net.loss(rows_of(testing::token_batch(kBatchRows, 1), communicator), strategy.unit_runner()));
}

int64_t padded_numel(const UnitNet& net, int world_size) {
  int64_t numel = 0;
  for (const at::Tensor& tensor : net.parameters()) {
    const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
    numel += (rows + world_size - 1) / world_size * world_size * (tensor.numel() / rows);
  }
  return numel;
}

// Bytes of one update per rank: an all-gather of everything (in stage 3 twice, but for what the head uses, with which forward
// ends and backward begins), and a reduce-scatter of what is trained.
const RankBody kTraffic("traffic", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const int world_size = rank.world_size();
  for (const int stage : {1, 2, 3}) {
    INFO("stage " << stage);
    const UnitNet net(kSeed);
    const Variant variant{.name = "", .stage = stage};
    const auto strategy = sharded(variant, net, *communicator);
    strategy->prepare();
    backward_own_rows(*strategy, net, *communicator);
    strategy->step(1e-3);
    strategy->zero_gradients();
    const int64_t before = communicator->bytes_sent();
    backward_own_rows(*strategy, net, *communicator);
    strategy->step(1e-3);
    const int64_t sent = communicator->bytes_sent() - before;
    const auto padded = [&](const at::Tensor& tensor) {
      const int64_t rows = tensor.size(0);
      return (rows + world_size - 1) / world_size * world_size * (tensor.numel() / rows);
    };
    const int64_t all = padded_numel(net, world_size);
    const at::Tensor& frozen = net.parameters()[1];
    int64_t again = stage == 3 ? all : 0;
    const std::vector<plan::UnitPlan> units = net.plan_units(true);
    for (const plan::UnitPlan* used_last :
         {&units.front(), &units.back()}) {  // the tied table, and the head's own
      for (const int index : used_last->parameters)
        again -= stage == 3 ? padded(net.parameters()[static_cast<size_t>(index)]) : 0;
    }
    const int64_t numbers = 2 * all - padded(frozen) + again;
    CHECK(sent == Approx(4.0 * static_cast<double>(numbers * (world_size - 1) / world_size)).epsilon(0.01));
  }
});

// One group of two sends what is between the groups on its way and goes on, while the other group has not begun.
const RankBody kReplicasOnTheirWay("replicas on their way", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const comm::Mesh mesh(*communicator, 2, 2);
  parallel::ShardPlacement placement;
  placement.parts = 2;
  placement.index = mesh.shard().rank();
  parallel::ShardedParameter parameter({"w", at::zeros({4, 3}).requires_grad_(true), 0}, placement);
  parallel::GatheredBytes gathered;
  parallel::ShardUnit unit("w", {&parameter}, true, {communicator.get(), &mesh.shard(), &mesh.replicate()},
                           gathered);
  parameter.leaf().mutable_grad() = at::full({4, 3}, rank.rank());
  const bool first = rank.rank() < 2;
  const auto send = [&] {
    unit.start_reduction();
    CHECK(unit.average_replicas());
  };
  if (first) send();
  communicator->barrier();  // would not be reached by a group that waits for the other's gradients
  if (!first) send();
  unit.finish_reduction();
  CHECK(parameter.local_shard().grad().eq(1.5).all().item<bool>());  // the mean of 0, 1, 2, 3
});

// Its sequence number counts the group's operations.
comm::Operation last_operation(const comm::Communicator& communicator) {
  const auto backend = communicator.process_group()->getBackend(c10::DeviceType::CPU);
  return dynamic_cast<const comm::ObservedBackend&>(*backend).last_operation();
}

const RankBody kReadyToSave("ready to save", [](const Rank& rank) {
  const auto communicator = rank.connect();
  for (const std::string state_dict : {"full", "sharded"}) {
    INFO(state_dict);
    const auto change = [&](plan::StrategyPlan& plan) { plan.state_dict = state_dict; };
    const UnitNet net(kSeed);
    const auto strategy = sharded({.name = "", .change = change}, net, *communicator);
    communicator->barrier();
    strategy->prepare();
    CHECK((last_operation(*communicator).name == "gather") == (state_dict == "full"));
  }
});

// All but the third of the parameters are small.
const RankBody kSmallOnesTogether("small ones together", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const comm::Mesh mesh(*communicator, 2, 1);
  std::deque<parallel::ShardedParameter> parameters;
  std::vector<parallel::ShardedParameter*> members;
  for (const int64_t rows : {4, 3, 1 << 17, 2}) {
    parallel::ShardPlacement placement;
    placement.resident = true;
    const std::string name = std::to_string(rows);
    members.push_back(&parameters.emplace_back(
        parallel::NamedParameter{name, at::zeros({rows, 3}).requires_grad_(true), 0}, placement));
  }
  parallel::GatheredBytes gathered;
  parallel::ShardUnit unit("block", members, false, {communicator.get(), &mesh.shard(), &mesh.replicate()},
                           gathered);
  for (int pass = 1; pass <= 2; ++pass) {
    for (size_t i = 0; i < members.size(); ++i)
      members[i]->leaf().mutable_grad() =
          at::full(members[i]->shape(), static_cast<double>(i + 1) + 2 * rank.rank());
    const uint64_t before = last_operation(*communicator).sequence;
    unit.start_reduction();
    CHECK(last_operation(*communicator).sequence == before + 2);
    unit.finish_reduction();
    for (size_t i = 0; i < members.size(); ++i) {
      const at::Tensor& gradient = members[i]->local_shard().grad();
      CHECK(gradient.sizes() == at::IntArrayRef(members[i]->shape()));
      CHECK(gradient.eq(static_cast<double>(pass) * static_cast<double>(i + 2)).all().item<bool>());
    }
  }
});

const RankBody kStateBytes("state bytes", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const int64_t world_size = rank.world_size();
  for (const int stage : {1, 2, 3}) {
    INFO("stage " << stage);
    const UnitNet net(kSeed);
    const auto strategy = sharded({.name = "", .stage = stage}, net, *communicator);
    strategy->prepare();
    backward_own_rows(*strategy, net, *communicator, false);
    backward_own_rows(*strategy, net, *communicator);
    strategy->step(1e-3);
    strategy->zero_gradients();
    const parallel::StateBytes bytes = strategy->state_bytes();
    const int64_t all = 4 * padded_numel(net, rank.world_size());
    const int64_t trained = 4 * (net.numel() - 5 * UnitNet::kWidth);
    CHECK(bytes.parameters == (stage == 3 ? all / world_size : all));
    // The last rows of uneven parameters are somebody else's.
    const double slack = static_cast<double>(all - 4 * net.numel()) / static_cast<double>(all) + 0.05;
    const int64_t gradients = stage == 1 ? trained : trained / world_size;
    CHECK(bytes.gradients == Approx(static_cast<double>(gradients)).epsilon(slack));
    CHECK(bytes.optimizer == Approx(static_cast<double>(2 * trained / world_size)).epsilon(slack + 0.05));
    CHECK((bytes.gathered_peak > 0) == (stage == 3));
    CHECK(bytes.gathered_peak < all);
    // Offloaded, whole ones of stage 1 stay where they are computed until parts of them go to the host; of the others parts
    // of a micro-batch arrive beside those of the one before.
    const UnitNet other(kSeed);
    const auto to_host = [](plan::StrategyPlan& plan) { plan.offload_optimizer = "cpu"; };
    const auto offloaded =
        sharded({.name = "", .stage = stage, .change = to_host, .late_copies = true}, other, *communicator);
    offloaded->prepare();
    backward_own_rows(*offloaded, other, *communicator, false);
    backward_own_rows(*offloaded, other, *communicator);
    const int64_t both = stage == 1 ? trained + trained / world_size : 2 * trained / world_size;
    CHECK(offloaded->state_bytes().gradients == Approx(static_cast<double>(both)).epsilon(slack));
  }
});

const RankBody kOverflow("overflow", [](const Rank& rank) {
  const auto communicator = rank.connect();
  for (const int stage : {1, 2, 3}) {
    const UnitNet net(kSeed);
    const auto strategy = sharded({.name = "", .stage = stage}, net, *communicator);
    strategy->prepare();
    optim::GradientScaler scaler;
    strategy->begin_micro_batch(true);
    // Only what the last rank holds of the table overflows.
    at::Tensor loss =
        net.loss(rows_of(testing::token_batch(kBatchRows, 1), *communicator), strategy->unit_runner());
    strategy->backward(loss * scaler.scale());
    if (rank.rank() + 1 == rank.world_size()) {
      bool first = true;
      strategy->visit_parameters(
          [&](const StatePart& part) {
            if (part.tensor.grad().defined() && first) part.tensor.grad().fill_(1e38f).mul_(1e38f);
            first = first && !part.tensor.grad().defined();
          },
          Access::kRead);
    }
    // All ranks hear of it, and shrink the scale alike.
    const at::Tensor overflow = strategy->clip_gradients(1.0, scaler.scale()).isfinite().logical_not();
    CHECK(overflow.item<bool>());
    scaler.update(overflow);
    CHECK(scaler.scale().item<double>() == 32768.0);
    strategy->zero_gradients();
    strategy->begin_micro_batch(true);
    strategy->backward(
        net.loss(rows_of(testing::token_batch(kBatchRows, 1), *communicator), strategy->unit_runner()) *
        scaler.scale());
    const double scaled = strategy->clip_gradients(1.0, scaler.scale()).item<double>();
    CHECK(scaled * 32768 == Approx(strategy->clip_gradients(1.0, {}).item<double>()));
  }
});

// Evaluation between steps sees the newest parameters and leaves training as it was.
const RankBody kEvaluation("evaluation", [](const Rank& rank) {
  const auto communicator = rank.connect();
  for (const int stage : {1, 2, 3}) {
    INFO("stage " << stage);
    const UnitNet net(kSeed), expected_net(kSeed);
    const auto strategy = sharded({.name = "", .stage = stage}, net, *communicator);
    const auto reference = replicated(expected_net, *communicator);
    const at::Tensor ids = testing::token_batch(kBatchRows, 77);
    strategy->prepare();
    reference->prepare();
    for (int step = 0; step < 3; ++step) {
      for (Strategy* each : {strategy.get(), reference.get()}) {
        backward_own_rows(*each, each == strategy.get() ? net : expected_net, *communicator);
        each->step(1e-2);
        each->zero_gradients();
      }
      const at::NoGradGuard no_grad;
      CHECK(net.loss(ids, strategy->unit_runner()).item<double>() ==
            Approx(expected_net.loss(ids, reference->unit_runner()).item<double>()).epsilon(1e-6));
    }
  }
});

// Every number of every parameter is held by exactly one rank that writes it.
const RankBody kParts("parts", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const UnitNet net(kSeed);
  const auto strategy =
      sharded({.name = "", .replicate = rank.world_size() == 4 ? 2 : 1}, net, *communicator);
  strategy->prepare();
  double numbers = 0, steps = 0;
  strategy->visit_parameters(
      [&](const StatePart& part) {
        if (part.written_here) numbers += static_cast<double>(part.tensor.numel());
        CHECK(part.tensor.dim() == static_cast<int64_t>(part.shape.size()));
      },
      Access::kRead);
  CHECK(communicator->sum(numbers) == static_cast<double>(net.numel()));
  strategy->visit_optimizer_state(
      [&](const StatePart& part) {
        if (part.state == "step" && part.written_here) ++steps;
      },
      Access::kRead);
  CHECK(communicator->sum(steps) == static_cast<double>(net.parameters().size() - 1));
  const std::map<std::string, at::Tensor> whole = whole_parameters(*strategy, net);
  CHECK(whole.empty() == (rank.rank() != 0));
  for (const auto& [name, tensor] : whole) CHECK(at::equal(tensor, values_of(kSeed).at(name)));
});

// A micro-batch of which bfloat16 would lose each number beside the first one's.
const RankBody kSmallMicroBatches("small micro-batches", [](const Rank& rank) {
  constexpr int kMicroBatches = 64;
  constexpr double kShare = 1.0 / 300;
  const auto communicator = rank.connect();
  for (const int stage : {1, 2, 3}) {
    INFO("stage " << stage);
    const auto norm_after = [&](int micro_batches) {
      const Variant variant{.name = "", .stage = stage, .compute = at::kBFloat16};
      const UnitNet net(kSeed);
      const auto strategy = sharded(variant, net, *communicator);
      strategy->prepare();
      for (int micro = 0; micro < micro_batches; ++micro) {
        strategy->begin_micro_batch(micro + 1 == micro_batches);
        const at::Tensor loss = net.loss(rows_of(testing::token_batch(kBatchRows, 5), *communicator),
                                         strategy->unit_runner(), variant.compute);
        strategy->backward(loss * (micro == 0 ? 1 : kShare));
      }
      return strategy->clip_gradients(1e9, {}).item<double>();
    };
    CHECK(norm_after(kMicroBatches) / norm_after(1) ==
          Approx(1 + (kMicroBatches - 1) * kShare).epsilon(0.01));
  }
});

const RankBody kKilledInShardedBackward("killed in sharded backward", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const UnitNet net(kSeed);
  const auto strategy = sharded({.name = ""}, net, *communicator);
  strategy->prepare();
  backward_own_rows(*strategy, net, *communicator);
  strategy->begin_micro_batch(true);
  const at::Tensor loss = net.loss(testing::token_batch(2, 1), strategy->unit_runner());
  if (rank.rank() == 1) rank.die();
  try {
    strategy->backward(loss);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    INFO(error.render());
    CHECK(error.code() == ExitCode::kWorkerLost);
  }
});

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

TEST_CASE("gradients of bfloat16 add up in float32, however small a micro-batch's are", "[process]") {
  require_success(testing::run_ranks("small micro-batches", 2));
}

TEST_CASE("shard groups with replicas train as one group", "[process]") {
  run_stages(", hybrid", 4);
}

TEST_CASE("what goes on between replicas is not waited for before the pass is over", "[process]") {
  require_success(testing::run_ranks("replicas on their way", 4));
}

TEST_CASE("ranks that will send each other whole parameters have done so before the first update",
          "[process]") {
  require_success(testing::run_ranks("ready to save", 2));
}

TEST_CASE("gradients of small parameters that stay whole are reduced with one operation", "[process]") {
  require_success(testing::run_ranks("small ones together", 2));
}

TEST_CASE("parameters below the limit stay whole", "[process]") {
  run_stages(", small ones whole", 2);
}

// On the CPU host offload is no other layout; that of a GPU is in sharded_parameter_test.cpp.
TEST_CASE("prefetch, units that stay and host offload change no number", "[process]") {
  for (const std::string name :
       {"units that stay", "prefetch both ways", "prefetch without limit", "no prefetch", "host offload"}) {
    INFO(name);
    require_success(testing::run_ranks(name, 3));
  }
}

TEST_CASE("an output that goes into many later units gets the gradients of all of them", "[process]") {
  run_stages(", one output for many", 2);
  run_stages(", one output for many, checkpointing", 2);
}

TEST_CASE("a rank that drops all layers behind an encoder gathers it backwards as the others do",
          "[process]") {
  run_stages(", dropped layers", 2);
  run_stages(", a dropped first layer", 2);
}

TEST_CASE("whole parameters that are fetched late behind an update are used when they are there",
          "[process]") {
  for (const std::string stage : {"stage 1", "stage 2"}) {
    INFO(stage);
    require_success(testing::run_ranks(stage + ", late fetches", 2));
  }
}

TEST_CASE("gradients that come to the host late are waited for before they are read", "[process]") {
  for (const std::string accumulation : {"1", "3"}) {
    INFO("accumulation " << accumulation);
    require_success(testing::run_ranks("host offload with late copies, accumulation " + accumulation, 2));
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

TEST_CASE("parameters of all stages equal those of replicas to the last bit after 50 steps", "[process]") {
  require_success(testing::run_ranks("bitwise", 2, {}, "shm"));
  require_success(testing::run_ranks("bitwise", 4, {}, "shm"));
}

TEST_CASE("an update sends what the formulas say", "[process]") {
  require_success(testing::run_ranks("traffic", 2));
  require_success(testing::run_ranks("traffic", 3));
}

TEST_CASE("each stage holds what its formula says", "[process]") {
  require_success(testing::run_ranks("state bytes", 2));
}

TEST_CASE("an overflow on one rank skips the update of all", "[process]") {
  require_success(testing::run_ranks("overflow", 2));
}

TEST_CASE("evaluation between steps uses the newest parameters in every stage", "[process]") {
  require_success(testing::run_ranks("evaluation", 2));
}

TEST_CASE("the parts of all ranks are the whole, each written once", "[process]") {
  for (const int world_size : {1, 3, 4}) require_success(testing::run_ranks("parts", world_size));
}

TEST_CASE("a peer killed before the sharded backward pass ends it at once", "[process]") {
  const auto outcomes = testing::run_ranks("killed in sharded backward", 2);
  INFO(outcomes[0].output);
  CHECK(outcomes[0].exit_status == 0);
  CHECK(outcomes[1].signal == 9);
}
