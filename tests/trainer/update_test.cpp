#include "hftrain/trainer/update.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/trainer/components.h"
#include "hftrain/trainer/step_clock.h"
#include "parallel/late_fetches.h"
#include "support/catch.h"
#include "trainer/tiny_run.h"

namespace hftrain::trainer {
namespace {

using testing::kBlock;

LoadedBatch batch_of(int64_t first_sample, int64_t rows) {
  at::Tensor ids = at::empty({rows, kBlock}, at::kLong);
  auto values = ids.accessor<int64_t, 2>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t place = 0; place < kBlock; ++place) {
      values[row][place] = testing::token_at(first_sample + row, place);
    }
  }
  return {{.input_ids = ids, .labels = ids}, {}};
}

// As of a device that is always behind: what is on its way is no number before somebody waits.
class LateNumbers final : public testing::LateFetches {
 public:
  void start(const at::Tensor& there, const at::Tensor& source) override {
    there.fill_(std::numeric_limits<double>::quiet_NaN());
    under_way_.emplace_back(there, source.clone());
  }
  Mark mark() override { return static_cast<Mark>(under_way_.size()); }
  void wait(Mark mark) override {
    for (; waited_ < mark; ++waited_)
      under_way_[static_cast<size_t>(waited_)].first.copy_(under_way_[static_cast<size_t>(waited_)].second);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> under_way_;
  Mark waited_ = 0;
};

// A tiny model on one rank, equal in every object, and its updates.
struct TinyTraining {
  explicit TinyTraining(plan::RunPlan wanted = testing::tiny_plan(),
                        std::unique_ptr<parallel::HostCopies> copies = nullptr,
                        parallel::OptimizerMaker make_optimizer = {})
      : plan(std::move(wanted)),
        communicator(comm::make_communicator({}, comm::builtin_backends())),
        model(make_model(plan, at::kCPU)),
        strategy(make_strategy(plan, *model, *communicator, std::move(make_optimizer))),
        schedule(make_schedule(plan)),
        scaler(make_scaler(plan, at::kCPU)),
        losses(at::kCPU, true),
        update(plan, *model, strategy->unit_runner(), *strategy, *schedule, scaler, clock,
               std::move(copies)) {
    model->initialise(at::make_generator<at::CPUGeneratorImpl>(uint64_t{7}));
    strategy->prepare();
  }

  // `items`: labels of all micro-batches.
  UpdateResult run(const std::vector<LoadedBatch>& micro_batches, double items = 6 * kBlock) {
    return run_late(micro_batches, items).value();
  }
  std::optional<UpdateResult> run_late(const std::vector<LoadedBatch>& micro_batches,
                                       double items = 6 * kBlock) {
    return update.run(micro_batches, items, losses, 0,
                      {[this] { events += "s"; }, [this] { events += "p"; }, [this] { events += "o"; }});
  }
  std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& parameter : model->parameters()) copies.push_back(parameter.detach().clone());
    return copies;
  }

  // The first parameter, which everything is computed from.
  void fill_first(double value) {
    const at::NoGradGuard no_grad;
    model->parameters().front().fill_(value);
  }
  void restore_first(const std::vector<at::Tensor>& saved) {
    const at::NoGradGuard no_grad;
    model->parameters().front().copy_(saved.front());
  }

  plan::RunPlan plan;
  std::unique_ptr<comm::Communicator> communicator;
  std::unique_ptr<models::Model> model;
  std::unique_ptr<parallel::Strategy> strategy;
  std::unique_ptr<optim::Schedule> schedule;
  optim::GradientScaler scaler;
  StepClock clock{true};
  LossAccumulator losses;
  Update update;
  std::string events;
};

// L2, over all parameters.
double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]).to(at::kDouble).square().sum().item<double>();
  return std::sqrt(sum);
}

bool same_bits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].equal(b[i])) return false;
  }
  return a.size() == b.size();
}

// What an optimizer has counted for each parameter.
std::vector<double> counts_of(parallel::Strategy& strategy) {
  std::vector<double> counts;
  strategy.visit_optimizer_state(
      [&](const parallel::StatePart& part) {
        if (part.state == "step") counts.push_back(part.tensor.item<double>());
      },
      parallel::Access::kRead);
  return counts;
}

// As a program's own.
class WaitedFor final : public optim::Optimizer {
 public:
  explicit WaitedFor(std::vector<optim::ParameterGroup> groups)
      : optim::Optimizer("own", std::move(groups)) {}
  void step(const optim::Pace& pace) override { CHECK_FALSE(pace.skip.defined()); }
  std::vector<std::string> state_names() const override { return {}; }
  at::Tensor state(size_t, const std::string&) const override { return {}; }
};

bool gradients_are_zero(const models::Model& model) {
  for (const at::Tensor& parameter : model.parameters()) {
    if (parameter.grad().defined() && parameter.grad().count_nonzero().item<int64_t>() > 0) return false;
  }
  return true;
}

double logged_after(bool filter, const std::vector<float>& values) {
  LossAccumulator losses(at::kCPU, filter);
  for (size_t i = 0; i < values.size(); ++i)
    losses.add(at::scalar_tensor(values[i], at::kFloat), static_cast<int64_t>(i));
  return losses.sum().item<double>();
}

}  // namespace

TEST_CASE("a loss that is no number counts as the mean so far, or as itself without the filter") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(logged_after(true, {3, 5, NAN}) == Approx(8 + 8.0 / 3));  // 1 + two steps since the last record
  CHECK(logged_after(true, {3, kInfinity}) == Approx(3 + 3.0 / 2));
  CHECK(logged_after(true, {NAN, 4}) == 4);
  CHECK(logged_after(false, {3, 5}) == 8);
  CHECK(std::isnan(logged_after(false, {3, NAN, 5})));
  CHECK(std::isinf(logged_after(false, {3, kInfinity})));
}

TEST_CASE("a run that divides its model makes it without memory, any other with its own") {
  plan::RunPlan plan = testing::tiny_plan();
  const auto bytes = [&plan] {
    size_t sum = 0;
    const auto model = make_model(plan, at::kCPU);
    for (const at::Tensor& parameter : model->parameters()) sum += parameter.storage().nbytes();
    return sum;
  };
  CHECK(bytes() > 1000);
  plan.strategy.stage = 3;
  CHECK(bytes() == 0);
}

TEST_CASE("micro-batches that are accumulated make the update of one big batch") {
  TinyTraining in_parts, whole;
  const std::vector<at::Tensor> before = whole.parameters();
  const UpdateResult parts = in_parts.run({batch_of(0, 2), batch_of(2, 2), batch_of(4, 2)});
  const UpdateResult once = whole.run({batch_of(0, 6)});
  CHECK(parts.grad_norm == Approx(once.grad_norm).epsilon(1e-5));
  CHECK(in_parts.losses.sum().item<double>() == Approx(whole.losses.sum().item<double>()).epsilon(1e-5));
  const double moved = distance(before, whole.parameters());
  CHECK(moved > 1e-3);
  CHECK(distance(in_parts.parameters(), whole.parameters()) < 1e-5 * moved);
  CHECK(gradients_are_zero(*in_parts.model));
}

// Of answers, which the Trainer does not count.
TEST_CASE("micro-batches whose labels do not weigh them add up to the mean of their means") {
  plan::RunPlan plan = testing::tiny_plan();
  plan.data.task = tasks::Task::kQuestionAnswering;
  plan.model.config["architectures"] = Json::array({"GPT2ForQuestionAnswering"});
  const auto answers = [](int64_t first, int64_t rows) {
    LoadedBatch batch = batch_of(first, rows);
    batch.tensors.labels = at::Tensor();
    batch.tensors.start_positions = batch.tensors.input_ids.select(1, 0).remainder(kBlock);
    batch.tensors.end_positions = batch.tensors.input_ids.select(1, 1).remainder(kBlock);
    return batch;
  };
  const auto loss = [&](const std::vector<LoadedBatch>& micro_batches) {
    TinyTraining tiny(plan);
    tiny.run(micro_batches);
    return tiny.losses.sum().item<double>();
  };
  const double one = loss({answers(0, 1)}), three = loss({answers(1, 3)});
  CHECK(one != Approx(three).epsilon(1e-3));
  CHECK(loss({answers(0, 1), answers(1, 3)}) == Approx((one + three) / 2).epsilon(1e-5));
}

TEST_CASE("gradients above the limit are scaled down to it, and the norm told is that before") {
  plan::RunPlan plan = testing::tiny_plan();
  TinyTraining free(plan);
  const std::vector<at::Tensor> before = free.parameters();
  const double norm = free.run({batch_of(0, 6)}).grad_norm;
  CHECK(distance(before, free.parameters()) == Approx(0.1 * norm).epsilon(1e-4));  // 0 does not clip
  plan.optimizer.max_grad_norm = norm / 4;
  TinyTraining clipped(plan);
  CHECK(clipped.run({batch_of(0, 6)}).grad_norm == Approx(norm));
  CHECK(distance(before, clipped.parameters()) == Approx(0.1 * norm / 4).epsilon(1e-4));
  plan.optimizer.max_grad_norm = 2 * norm;
  TinyTraining below(plan);
  below.run({batch_of(0, 6)});
  CHECK(distance(below.parameters(), free.parameters()) < 1e-6);
}

TEST_CASE("an update whose gradients are not finite changes no parameter, and the schedule waits") {
  plan::RunPlan plan = testing::tiny_plan();
  plan.schedule.name = "linear";
  plan.steps.max_steps = 10;
  plan.optimizer.max_grad_norm = GENERATE(0.0, 1.0);
  TinyTraining tiny(plan), undisturbed(plan);
  const std::vector<at::Tensor> before = tiny.parameters();
  tiny.fill_first(std::numeric_limits<float>::infinity());
  const UpdateResult skipped = tiny.run({batch_of(0, 3), batch_of(3, 3)});
  CHECK(skipped.skipped);
  CHECK_FALSE(std::isfinite(skipped.grad_norm));
  CHECK(gradients_are_zero(*tiny.model));
  tiny.restore_first(before);
  CHECK(same_bits(tiny.parameters(), before));
  const UpdateResult next = tiny.run({batch_of(0, 6)}), first = undisturbed.run({batch_of(0, 6)});
  CHECK_FALSE(next.skipped);
  CHECK(next.learning_rate == first.learning_rate);
  CHECK(same_bits(tiny.parameters(), undisturbed.parameters()));
}

TEST_CASE(
    "on a device that is behind an update is told with the next one, and trains as if it had been waited "
    "for") {
  plan::RunPlan plan = testing::tiny_plan();
  plan.optimizer.name = "adamw_torch_fused";
  plan.schedule.name = "linear";
  plan.steps.max_steps = 8;
  plan.optimizer.max_grad_norm = 0.5;
  plan.precision.gradient_scaler = GENERATE(false, true);
  plan.precision.loss_scale.growth_interval = 2;
  TinyTraining waited(plan), late(plan, std::make_unique<LateNumbers>());
  std::vector<UpdateResult> expected, found;
  const auto keep = [&](const std::optional<UpdateResult>& result) {
    if (result) found.push_back(*result);
  };
  for (int step = 0; step < 6; ++step) {
    const std::vector<at::Tensor> before = waited.parameters();
    if (step == 2) {  // one that must change nothing
      waited.fill_first(std::numeric_limits<float>::infinity());
      late.fill_first(std::numeric_limits<float>::infinity());
    }
    expected.push_back(waited.run({batch_of(step, 6)}));
    keep(late.run_late({batch_of(step, 6)}));
    CHECK(found.size() == static_cast<size_t>(step));
    if (step == 2) {
      waited.restore_first(before);
      late.restore_first(before);
      CHECK(same_bits(late.parameters(), before));
    }
    CHECK(same_bits(late.parameters(), waited.parameters()));
  }
  keep(late.update.settle());
  CHECK_FALSE(late.update.settle().has_value());
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("update " << i);
    CHECK(found[i].skipped == (i == 2));
    CHECK(found[i].learning_rate == expected[i].learning_rate);
    if (i != 2) CHECK(found[i].grad_norm == expected[i].grad_norm);
  }
  CHECK(late.schedule->rate() == waited.schedule->rate());
  CHECK(late.scaler.state() == waited.scaler.state());
  CHECK(late.scaler.scale().item<double>() ==
        (plan.precision.gradient_scaler ? 131072 : 65536));  // ×2, ÷2, ×2
  CHECK(late.events == waited.events);
}

TEST_CASE("an update that a device skips counts in no optimizer, though the host hears of it late") {
  plan::RunPlan plan = testing::tiny_plan();
  plan.optimizer.max_grad_norm = 0.5;
  for (const std::string& name : optim::optimizer_names()) {
    INFO(name);
    const auto make = [&](std::vector<optim::ParameterGroup> groups) {
      return optim::make_optimizer(name, std::move(groups), {.as_on_device = true});
    };
    plan.optimizer.learning_rate = 1e-3;
    TinyTraining waited(plan, nullptr, make), late(plan, std::make_unique<LateNumbers>(), make);
    for (int step = 0; step < 5; ++step) {
      const std::vector<at::Tensor> before = waited.parameters();
      const bool broken = step == 0 || step == 2;
      if (broken) waited.fill_first(std::numeric_limits<float>::infinity());
      if (broken) late.fill_first(std::numeric_limits<float>::infinity());
      waited.run({batch_of(step, 6)});
      CHECK(late.run_late({batch_of(step, 6)}).has_value() == (step > 0));
      if (broken) waited.restore_first(before);
      if (broken) late.restore_first(before);
    }
    late.update.settle();
    CHECK(distance(late.parameters(), waited.parameters()) < 1e-6);
    CHECK(counts_of(*late.strategy) == counts_of(*waited.strategy));
  }
}

TEST_CASE("an optimizer that cannot skip by itself has its norm read at once, however late copies are") {
  const auto make = [](std::vector<optim::ParameterGroup> groups) {
    return std::make_unique<WaitedFor>(std::move(groups));
  };
  TinyTraining tiny(testing::tiny_plan(), std::make_unique<LateNumbers>(), make);
  CHECK(tiny.run_late({batch_of(0, 6)}).has_value());
  CHECK_FALSE(tiny.update.settle().has_value());
}

TEST_CASE("an update uses the rate of the schedule, which goes on after it") {
  plan::RunPlan plan = testing::tiny_plan();
  plan.schedule.name = "linear";
  plan.steps.max_steps = 4;
  TinyTraining tiny(plan);
  for (const double share : {1.0, 0.75, 0.5, 0.25, 0.0}) {
    const std::vector<at::Tensor> before = tiny.parameters();
    const UpdateResult result = tiny.run({batch_of(0, 6)});
    CHECK(result.learning_rate == Approx(0.1 * share));
    CHECK(distance(before, tiny.parameters()) ==
          Approx(0.1 * share * result.grad_norm).epsilon(1e-4).margin(1e-9));
  }
}

TEST_CASE("callbacks hear of every micro-batch but the last, then of the two sides of the optimizer's step") {
  TinyTraining tiny;
  tiny.run({batch_of(0, 2), batch_of(2, 2), batch_of(4, 2)});
  CHECK(tiny.events == "sspo");
  tiny.run({batch_of(0, 6)});
  CHECK(tiny.events == "sspopo");
}

TEST_CASE("a loss scale leaves the update as it is, and an overflow skips it and halves the scale") {
  plan::RunPlan plan = testing::tiny_plan();
  TinyTraining plain(plan);
  plan.precision.gradient_scaler = true;
  TinyTraining scaled(plan);
  const UpdateResult with = scaled.run({batch_of(0, 6)}), without = plain.run({batch_of(0, 6)});
  CHECK(with.grad_norm == Approx(without.grad_norm).epsilon(1e-5));
  CHECK(scaled.losses.sum().item<double>() == plain.losses.sum().item<double>());
  CHECK(distance(scaled.parameters(), plain.parameters()) < 1e-6);
  const std::vector<at::Tensor> before = scaled.parameters();
  scaled.fill_first(std::numeric_limits<float>::infinity());
  CHECK(scaled.run({batch_of(0, 6)}).skipped);
  scaled.restore_first(before);
  CHECK(same_bits(scaled.parameters(), before));
  CHECK(scaled.scaler.scale().item<double>() == 32768);
}

TEST_CASE(
    "gradients that overflow at the least loss scale end the run, one update later on a device that is "
    "behind") {
  plan::RunPlan plan = testing::tiny_plan();
  plan.optimizer.name = "adamw_torch_fused";
  plan.precision.gradient_scaler = true;
  plan.precision.loss_scale.minimum = plan.precision.loss_scale.initial;
  TinyTraining waited(plan), late(plan, std::make_unique<LateNumbers>());
  for (TinyTraining* each : {&waited, &late}) each->fill_first(std::numeric_limits<float>::infinity());
  CHECK_THROWS_WITH(waited.run({batch_of(0, 6)}), Catch::Contains("the loss scale is at its minimum"));
  CHECK_FALSE(late.run_late({batch_of(0, 6)}).has_value());
  CHECK_THROWS_WITH(late.update.settle(), Catch::Contains("the loss scale is at its minimum"));
}

}  // namespace hftrain::trainer
