// What an evaluation gives, against the Trainer's rule written out over losses of single batches.
#include "hftrain/trainer/evaluator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

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
  explicit TinyEvaluation(comm::Communicator& group, plan::RunPlan wanted = testing::tiny_plan(),
                          PredictionStep own = {})
      : plan(std::move(wanted)),
        model(make_model(plan, at::kCPU)),
        evaluator(plan, *model, runner, group, events, models::loss_objective, std::move(own)) {
    model->initialise(at::make_generator<at::CPUGeneratorImpl>(uint64_t{7}));
  }

  Evaluation run(int64_t samples, const std::string& prefix, const ScorerMaker& make_scorer = {},
                 std::shared_ptr<const data::Collator> collator = data::block_collator()) {
    return evaluator.run({.dataset = memory_dataset(samples),
                          .collator = std::move(collator),
                          .prefix = prefix,
                          .make_scorer = make_scorer});
  }
  double loss_over(int64_t samples) {
    const Evaluation evaluation = run(samples, "eval");
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

// Makes blocks, and notes on which threads.
class WatchedCollator final : public data::Collator {
 public:
  std::vector<data::TensorShape> shapes(const data::Dataset& dataset,
                                        std::span<const int64_t> samples) const override {
    return blocks_->shapes(dataset, samples);
  }
  void fill(const data::Dataset& dataset, std::span<const int64_t> samples, const data::DrawKey& key,
            std::span<void* const> memory) const override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    blocks_->fill(dataset, samples, key, memory);
  }
  std::set<std::thread::id> threads() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return threads_;
  }

 private:
  std::unique_ptr<data::Collator> blocks_ = data::block_collator();
  mutable std::mutex mutex_;
  mutable std::set<std::thread::id> threads_;
};

// Keeps a row for each sample: its place, its labels, what the model says of each place.
class RecordingScorer final : public tasks::Scorer {
 public:
  explicit RecordingScorer(std::vector<size_t>* sizes = nullptr, bool in_pieces = false)
      : sizes_(sizes), in_pieces_(in_pieces) {}

  void add(const tasks::OutputBatch& batch) override {
    if (sizes_) sizes_->push_back(batch.samples.size());
    const auto width = static_cast<size_t>(batch.output.row_size());
    const tasks::RowValues& labels = *batch.label("labels");
    for (size_t row = 0; row < batch.samples.size(); ++row) {
      rows_.push_back(static_cast<double>(batch.samples[row]));
      for (const auto& ids : {labels.ids, batch.output.ids}) {
        for (const int64_t id : ids.subspan(row * width, width)) rows_.push_back(static_cast<double>(id));
      }
    }
  }
  std::vector<double> state() const override { return rows_; }
  void merge(std::span<const double> state) override {
    rows_.insert(rows_.end(), state.begin(), state.end());
  }
  metrics::MetricResults results() const override {
    return {{"rows", static_cast<double>(rows_.size() / kRow)}};
  }
  bool goes_in_pieces() const override { return in_pieces_; }
  void forget() override { rows_.clear(); }
  void expect_all(const tasks::ResultPlace* place) override {
    expects_all_ = rows_.empty();
    writes_ = place != nullptr;
  }
  bool expects_all() const { return expects_all_; }
  bool writes() const { return writes_; }
  std::vector<std::vector<double>> rows_as_merged() const {
    std::vector<std::vector<double>> rows;
    for (size_t begin = 0; begin < rows_.size(); begin += kRow)
      rows.emplace_back(rows_.begin() + static_cast<std::ptrdiff_t>(begin),
                        rows_.begin() + static_cast<std::ptrdiff_t>(begin + kRow));
    return rows;
  }
  // In the order of samples.
  std::vector<std::vector<double>> rows() const {
    std::vector<std::vector<double>> rows = rows_as_merged();
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  static constexpr size_t kRow = 1 + 2 * kBlock;
  std::vector<double> rows_;
  std::vector<size_t>* sizes_;
  bool in_pieces_, expects_all_ = false, writes_ = false;
};

std::vector<std::vector<double>> recorded(TinyEvaluation& tiny, int64_t samples) {
  const Evaluation evaluation = tiny.run(samples, "eval", [] { return std::make_unique<RecordingScorer>(); });
  CHECK(evaluation.metrics.at("eval_rows") == samples);
  return dynamic_cast<const RecordingScorer&>(*evaluation.scorer).rows();
}

plan::RunPlan plan_with_outputs() {
  plan::RunPlan plan = testing::tiny_plan();
  plan.evaluation.outputs = tasks::OutputForm::kBestIds;
  return plan;
}

// What one rank finds for each sample.
std::vector<std::vector<double>> recorded_alone(int64_t samples) {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  TinyEvaluation tiny(*alone, plan_with_outputs());
  return recorded(tiny, samples);
}

const RankBody kOutputs("ranks hand over every sample once", [](const Rank& rank) {
  const auto group = rank.connect();
  for (const bool split : {false, true}) {
    for (const bool even : {true, false}) {
      plan::RunPlan plan = plan_with_outputs();
      plan.data.even_batches = even;
      plan.data.split_batches = split;
      if (split) plan.batch.per_device_eval = 2 * group->world_size();
      TinyEvaluation tiny(*group, plan);
      for (const int64_t samples : {1, 3, 5, 6, 7, 8, 12, 13}) {
        CAPTURE(split, even, samples);
        CHECK(recorded(tiny, samples) == recorded_alone(samples));
      }
    }
  }
});

const RankBody kPieces("ranks hand over pieces", [](const Rank& rank) {
  const auto group = rank.connect();
  TinyEvaluation tiny(*group, plan_with_outputs());
  const int64_t samples = 2 * tasks::kSamplesOfPiece + 7;
  for (const bool in_pieces : {true, false}) {
    const ScorerMaker make = [&] { return std::make_unique<RecordingScorer>(nullptr, in_pieces); };
    EvaluationRequest request{.dataset = memory_dataset(samples),
                              .collator = data::block_collator(),
                              .prefix = "eval",
                              .make_scorer = make};
    if (group->rank() == 0) request.place = tasks::ResultPlace{"folder", "eval"};
    const Evaluation evaluation = tiny.evaluator.run(request);
    const auto& whole = dynamic_cast<const RecordingScorer&>(*evaluation.scorer);
    CHECK(whole.expects_all());
    CHECK(whole.writes() == (group->rank() == 0));
    const auto rows = whole.rows(), in_order = whole.rows_as_merged();
    REQUIRE(static_cast<int64_t>(rows.size()) == samples);
    // In pieces a sample comes behind all those that are more than a piece before it.
    const auto first_of = [&](size_t row) { return in_order[row][0]; };
    double latest = 0, behind = 0;
    for (size_t row = 0; row < in_order.size(); ++row) {
      latest = std::max(latest, first_of(row));
      behind = std::max(behind, latest - first_of(row));
    }
    CHECK((behind < static_cast<double>(tasks::kSamplesOfPiece)) == in_pieces);
    for (size_t row = 0; row < rows.size(); ++row) CHECK(rows[row][0] == static_cast<double>(row));
  }
});

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

// Takes the labels off so many of the run's batches.
class WithoutLabels final : public OwnLoader {
 public:
  WithoutLabels(std::unique_ptr<OwnLoader> of_run, int64_t count)
      : of_run_(std::move(of_run)), left_(count) {}
  void begin_epoch(int64_t epoch, int64_t skip) override { of_run_->begin_epoch(epoch, skip); }
  std::optional<int64_t> length() const override { return of_run_->length(); }
  std::optional<models::Batch> next() override {
    std::optional<models::Batch> batch = of_run_->next();
    if (batch && left_-- > 0) batch->labels = at::full_like(batch->input_ids, -100);
    return batch;
  }

 private:
  std::unique_ptr<OwnLoader> of_run_;
  int64_t left_;
};

Json metrics_without(TinyEvaluation& tiny, int64_t samples, int64_t batches) {
  const MakeOwnLoader loader = [batches](std::unique_ptr<OwnLoader> of_run) {
    return std::make_unique<WithoutLabels>(std::move(of_run), batches);
  };
  return tiny.evaluator
      .run({.dataset = memory_dataset(samples),
            .collator = data::block_collator(),
            .prefix = "eval",
            .make_scorer = {},
            .own_loader = loader})
      .metrics;
}

const RankBody kUnlabelled("two ranks evaluate batches without labels", [](const Rank& rank) {
  const auto group = rank.connect();
  TinyEvaluation tiny(*group);
  const auto of_seven = [&](int64_t first, int64_t second) {
    return metrics_without(tiny, 7, group->rank() == 0 ? first : second);
  };
  const Weighted third{{4, 5}, 2}, last{{6, 0}, 1};
  // Rank 1's batch stands for the round, which counts as the Trainer counts it.
  CHECK(of_seven(1, 0).at("eval_loss").get<double>() == about(expected(tiny, {{{2, 3}, 4}, third, last})));
  CHECK(of_seven(0, 1).at("eval_loss").get<double>() == about(expected(tiny, {{{0, 1}, 4}, third, last})));
  // Of the whole round nothing is known.
  CHECK(of_seven(1, 1).at("eval_loss").get<double>() == about(expected(tiny, {third, last})));
  CHECK_FALSE(of_seven(2, 2).contains("eval_loss"));
});

// W × own sum / sum of all, of which the entries behind the last sample are cut.
const RankBody kUnlabelledLast("two ranks evaluate a last round without labels", [](const Rank& rank) {
  const auto group = rank.connect();
  TinyEvaluation tiny(*group);
  const auto eval_loss = [&](int64_t samples, int64_t first, int64_t second) {
    return metrics_without(tiny, samples, group->rank() == 0 ? first : second).at("eval_loss").get<double>();
  };
  // Rank 0 has samples 4 and 5 and no label, rank 1 has repeated samples alone, whose loss stands for nobody's.
  CHECK(eval_loss(6, 2, 0) == about((2 * 2 * tiny.mean({2, 3}) + 2 * 0) / 6));
  // Sample 6 counts by what rank 1 has of the round.
  CHECK(eval_loss(7, 2, 0) == about((2 * 2 * tiny.mean({2, 3}) + 2 * 0 + 1 * 2 * tiny.mean({6, 0})) / 7));
  CHECK(eval_loss(7, 2, 1) == about((2 * 0 + 1 * 2 * tiny.mean({6, 0})) / 3));
});

const RankBody kOwnMeans("two ranks evaluate by their own means", [](const Rank& rank) {
  const auto group = rank.connect();
  plan::RunPlan plan = testing::tiny_plan();
  plan.data.even_batches = false;
  plan.batch.average_tokens_across_devices = false;
  TinyEvaluation tiny(*group, plan);
  CHECK(tiny.loss_over(7) == about(expected(tiny, {{{0, 1}, 2}, {{2, 3}, 2}, {{4, 5}, 2}, {{6}, 1}})));
  // Nobody knows the loss of what has no label.
  const Json unlabelled = metrics_without(tiny, 7, group->rank() == 0 ? 1 : 0);
  CHECK(unlabelled.at("eval_loss").get<double>() ==
        about(expected(tiny, {{{2, 3}, 2}, {{4, 5}, 2}, {{6}, 1}})));
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

TEST_CASE(
    "a loss of somebody else's step may be one number of any shape, and a tensor that the next step writes "
    "into") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  const at::Tensor kept = at::zeros({1, 1});
  TinyEvaluation tiny(*alone, testing::tiny_plan(),
                      [&](const models::Batch& columns, const Predict& predict) {
                        Prediction made = predict(columns);
                        kept.copy_(made.loss.reshape({1, 1}));
                        made.loss = kept;
                        return made;
                      });
  CHECK(tiny.loss_over(5) == TinyEvaluation(*alone).loss_over(5));
}

TEST_CASE("batches of an evaluation are made by the loader's threads where there are some, in their order") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  for (const int64_t workers : {0, 2}) {
    plan::RunPlan plan = plan_with_outputs();
    plan.data.loader_workers = workers;
    TinyEvaluation tiny(*alone, plan);
    const auto collator = std::make_shared<WatchedCollator>();
    const Evaluation evaluation = tiny.run(
        9, "eval", [] { return std::make_unique<RecordingScorer>(); }, collator);
    CHECK(dynamic_cast<const RecordingScorer&>(*evaluation.scorer).rows_as_merged() == recorded_alone(9));
    CHECK_FALSE(collator->threads().empty());
    CHECK(collator->threads().contains(std::this_thread::get_id()) == (workers == 0));
  }
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
    const Evaluation evaluation = tiny.run(5, "predict");
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

TEST_CASE(
    "the best ids of an evaluation are those of the logits, and the loss has the same bits as without") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  TinyEvaluation tiny(*alone, plan_with_outputs());
  const auto rows = recorded(tiny, 5);
  REQUIRE(rows.size() == 5);
  for (size_t sample = 0; sample < rows.size(); ++sample) {
    const at::Tensor ids = at::empty({1, kBlock}, at::kLong);
    MemoryColumn(5).copy_to(static_cast<int64_t>(sample), ids.data_ptr<int64_t>());
    const at::NoGradGuard no_grad;
    const at::Tensor logits =
        tiny.model->forward({.input_ids = ids}, tiny.runner, models::logits_only()).logits;
    const at::Tensor best = logits.argmax(-1);
    CHECK(rows[sample][0] == static_cast<double>(sample));
    for (int64_t place = 0; place < kBlock; ++place) {
      CHECK(rows[sample][static_cast<size_t>(1 + place)] == ids[0][place].item<double>());
      CHECK(rows[sample][static_cast<size_t>(1 + kBlock + place)] == best[0][place].item<double>());
    }
  }
  TinyEvaluation without(*alone);
  const auto make = [] { return std::make_unique<RecordingScorer>(); };
  CHECK(tiny.run(5, "eval", make).metrics.at("eval_loss") == without.run(5, "eval").metrics.at("eval_loss"));
}

TEST_CASE("outputs are handed over after as many batches as asked for, joined or one by one") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  struct Case {
    int64_t accumulation_steps;
    bool joins;
    std::vector<size_t> sizes;  // of what the scorer gets
  };
  for (const Case& one : {Case{1, true, {2, 2, 2, 2, 1}}, Case{2, true, {4, 4, 1}}, Case{3, true, {6, 3}},
                          Case{3, false, {2, 2, 2, 2, 1}}}) {
    plan::RunPlan plan = plan_with_outputs();
    plan.evaluation.accumulation_steps = one.accumulation_steps;
    plan.evaluation.joins_batches = one.joins;
    TinyEvaluation tiny(*alone, plan);
    std::vector<size_t> sizes;
    const Evaluation evaluation =
        tiny.run(9, "eval", [&] { return std::make_unique<RecordingScorer>(&sizes); });
    CHECK(sizes == one.sizes);
    CHECK(dynamic_cast<const RecordingScorer&>(*evaluation.scorer).rows() == recorded_alone(9));
  }
}

TEST_CASE("speeds of an evaluation are samples and rounds by its time") {
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  TinyEvaluation tiny(*alone);
  const Json metrics = tiny.run(5, "eval").metrics;
  const double ratio =
      metrics.at("eval_samples_per_second").get<double>() / metrics.at("eval_steps_per_second").get<double>();
  CHECK(ratio == Approx(5.0 / 3).epsilon(0.01));
}

TEST_CASE("several ranks evaluate to the same loss, and samples that only fill the last round do not count",
          "[process]") {
  require_success(testing::run_ranks("two ranks evaluate", 2));
  require_success(testing::run_ranks("three ranks evaluate less than a round", 3));
}

TEST_CASE("whatever the ranks, every sample is handed over once with what one rank finds for it",
          "[process]") {
  require_success(testing::run_ranks("ranks hand over every sample once", 2));
  require_success(testing::run_ranks("ranks hand over every sample once", 3));
}

TEST_CASE("what goes in pieces is merged while batches come, and one scorer expects all samples",
          "[process]") {
  require_success(testing::run_ranks("ranks hand over pieces", 2));
}

TEST_CASE("ranks that split batches evaluate their slices, and each sample counts once", "[process]") {
  require_success(testing::run_ranks("two ranks evaluate slices of batches", 2));
}

TEST_CASE("batches without labels have no part in the loss, whichever ranks have them", "[process]") {
  require_success(testing::run_ranks("two ranks evaluate batches without labels", 2));
}

TEST_CASE("in a last round that is cut a batch without labels has a loss of 0, not that of repeated samples",
          "[process]") {
  require_success(testing::run_ranks("two ranks evaluate a last round without labels", 2));
}

TEST_CASE("ranks that do not average labels across devices evaluate by the means of their batches",
          "[process]") {
  require_success(testing::run_ranks("two ranks evaluate by their own means", 2));
}

TEST_CASE("without even batches a rank that has no batch in the last round does not change the loss",
          "[process]") {
  require_success(testing::run_ranks("two ranks evaluate without even batches", 2));
}

}  // namespace hftrain::trainer
