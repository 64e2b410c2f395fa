// What an evaluation gives, against the rule of the contract written out over losses of single batches
// (training_loop.md 7.11).
#include "hftrain/trainer/evaluator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include "comm/rank_processes.h"
#include "hftrain/trainer/components.h"
#include "support/catch.h"
#include "trainer/tiny_run.h"

namespace hftrain::trainer {
namespace {

using testing::kBlock;
using testing::memory_dataset;
using testing::MemoryColumn;
using testing::Rank;
using testing::RankBody;

struct TinyEvaluation {
  explicit TinyEvaluation(comm::Communicator& group, plan::RunPlan wanted = testing::tiny_plan())
      : plan(std::move(wanted)),
        model(make_model(plan, at::kCPU)),
        evaluator(plan, *model, runner, group, events, data::block_collator()) {
    model->initialise(at::make_generator<at::CPUGeneratorImpl>(uint64_t{7}));
  }

  double loss_over(int64_t samples) {
    const Evaluation evaluation = evaluator.run(memory_dataset(samples), "eval");
    return evaluation.metrics.at("eval_loss").get<double>();
  }
  // The mean loss of one batch of these samples.
  double mean(const std::vector<int64_t>& samples) {
    const at::NoGradGuard no_grad;
    at::Tensor ids = at::empty({static_cast<int64_t>(samples.size()), kBlock}, at::kLong);
    for (size_t row = 0; row < samples.size(); ++row) {
      MemoryColumn(100).copy_to(samples[row], ids.data_ptr<int64_t>() + static_cast<int64_t>(row) * kBlock);
    }
    const models::Batch columns{.input_ids = ids, .labels = ids};
    const double items = static_cast<double>(models::label_count(model->architecture(), columns));
    const at::Tensor divisor = at::scalar_tensor(items, at::kFloat);
    const auto objective = models::loss_objective(model->architecture(), columns, {.num_items = divisor});
    return model->forward(columns, runner, objective).loss.item<double>();
  }

  plan::RunPlan plan;
  std::unique_ptr<models::Model> model;
  nn::UnitRunner runner;
  EventChannel events{FileDescriptor(), 0};
  Evaluator evaluator;
};

struct Weighted {
  std::vector<int64_t> samples;  // of one batch
  double entries;                // that it stands for
};

double expected(TinyEvaluation& tiny, const std::vector<Weighted>& batches) {
  double sum = 0, count = 0;
  for (const Weighted& batch : batches) {
    sum += batch.entries * tiny.mean(batch.samples);
    count += batch.entries;
  }
  return sum / count;
}

Approx about(double value) {
  return Approx(value).epsilon(1e-5);
}

const RankBody kTwo("two ranks evaluate", [](const Rank& rank) {
  const auto group = rank.connect();
  TinyEvaluation tiny(*group);
  CHECK(tiny.loss_over(8) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}, {{6, 7}, 2}})));
  // The last batch is filled with samples from the start, which are not counted.
  CHECK(tiny.loss_over(7) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}, {{6, 0}, 1}})));
  // A whole batch of rank 1 is of such samples.
  CHECK(tiny.loss_over(6) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}})));
});

const RankBody kUneven("two ranks evaluate without even batches", [](const Rank& rank) {
  const auto group = rank.connect();
  plan::RunPlan plan = testing::tiny_plan();
  plan.data.even_batches = false;
  TinyEvaluation tiny(*group, plan);
  // Rank 1 has nothing in the last round, or less than rank 0: each loss is W × own sum / sum of all.
  CHECK(tiny.loss_over(5) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4}, 1}})));
  CHECK(tiny.loss_over(6) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}})));
  const double last = 2 * tiny.mean({4, 5}) * 4 / 3 + tiny.mean({6}) * 2 / 3;
  CHECK(tiny.loss_over(7) == about((2 * tiny.mean({0, 1}) + 2 * tiny.mean({2, 3}) + last) / 7));
});

const RankBody kSplit("two ranks evaluate slices of batches", [](const Rank& rank) {
  const auto group = rank.connect();
  plan::RunPlan plan = testing::tiny_plan();
  plan.data.split_batches = true;
  plan.batch.per_device_eval = 4;  // of both ranks together
  TinyEvaluation even(*group, plan);
  CHECK(even.loss_over(8) == about(expected(even, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}, {{6, 7}, 2}})));
  CHECK(even.loss_over(7) == about(expected(even, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}, {{6, 0}, 1}})));
  plan.data.even_batches = false;
  TinyEvaluation uneven(*group, plan);
  CHECK(uneven.loss_over(5) == about(expected(uneven, {{{0, 1}, 2}, {{2, 3}, 2}, {{4}, 1}})));
});

const RankBody kThree("three ranks evaluate less than a round", [](const Rank& rank) {
  const auto group = rank.connect();
  TinyEvaluation tiny(*group);
  CHECK(tiny.loss_over(3) == about(expected(tiny, {{{0, 1}, 2}, {{2, 0}, 1}})));
  CHECK(tiny.loss_over(7) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}, {{6, 0}, 1}})));
});

}  // namespace

TEST_CASE("an evaluation counts every sample once, also those of a short last batch") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  TinyEvaluation tiny(*alone);
  for (const int64_t samples : {1, 4, 5}) {
    std::vector<Weighted> each;
    for (int64_t sample = 0; sample < samples; ++sample) each.push_back({{sample}, 1});
    CHECK(tiny.loss_over(samples) == about(expected(tiny, each)));
  }
  CHECK(tiny.loss_over(5) != about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4}, 2}})));
}

TEST_CASE("with drop_last an evaluation leaves the short batch out") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  plan::RunPlan plan = testing::tiny_plan();
  plan.data.drop_last = true;
  TinyEvaluation tiny(*alone, plan);
  CHECK(tiny.loss_over(5) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}})));
}

TEST_CASE("an evaluation names its metrics by the prefix and leaves the model in the mode it was in") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  plan::RunPlan plan = testing::tiny_plan();
  plan.model.config["resid_pdrop"] = 0.5;
  TinyEvaluation tiny(*alone, plan);
  for (const bool training : {true, false}) {
    tiny.model->train(training);
    const Evaluation evaluation = tiny.evaluator.run(memory_dataset(5), "predict");
    CHECK(evaluation.stop == StopSignal::kNone);
    std::vector<std::string> names;
    for (const auto& [name, value] : evaluation.metrics.items()) names.push_back(name);
    CHECK(names == std::vector<std::string>{"predict_loss", "predict_runtime", "predict_samples_per_second",
                                            "predict_steps_per_second"});
    CHECK(tiny.model->training() == training);
    // Twice the same number: dropout is off.
    CHECK(tiny.loss_over(5) == evaluation.metrics.at("predict_loss").get<double>());
  }
  for (const at::Tensor& parameter : tiny.model->parameters()) CHECK_FALSE(parameter.grad().defined());
}

TEST_CASE("speeds of an evaluation are samples and rounds by its time") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  TinyEvaluation tiny(*alone);
  const Json metrics = tiny.evaluator.run(memory_dataset(5), "eval").metrics;
  const double ratio =
      metrics.at("eval_samples_per_second").get<double>() / metrics.at("eval_steps_per_second").get<double>();
  CHECK(ratio == Approx(5.0 / 3).epsilon(0.01));
}

TEST_CASE("several ranks evaluate to the same loss, and samples that only fill the last round do not count",
          "[process]") {
  require_success(testing::run_ranks("two ranks evaluate", 2));
  require_success(testing::run_ranks("three ranks evaluate less than a round", 3));
}

TEST_CASE("ranks that split batches evaluate their slices, and each sample counts once", "[process]") {
  require_success(testing::run_ranks("two ranks evaluate slices of batches", 2));
}

TEST_CASE("without even batches a rank that has no batch in the last round does not change the loss",
          "[process]") {
  require_success(testing::run_ranks("two ranks evaluate without even batches", 2));
}

}  // namespace hftrain::trainer
