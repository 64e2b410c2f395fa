#include "hftrain/tasks/class_scorer.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/metric_table.h"

namespace hftrain::tasks {
namespace {

constexpr int64_t kNumberBytes = sizeof(double);

// As Python's repr shows a string, for labels of usual characters.
std::string in_quotes(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string shown(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') shown += '\\';
    shown += c;
  }
  return shown + quote;
}

// What the model says of samples, kept until they can be written in the order of the split. A row: the
// sample's place, then its class, its number, or 0 and 1 for each label.
class KeptPredictions {
 public:
  explicit KeptPredictions(size_t values) : row_(values + 1) {}

  void add(int64_t sample, std::span<const double> values) {
    rows_.push_back(static_cast<double>(sample));
    rows_.insert(rows_.end(), values.begin(), values.end());
  }
  const std::vector<double>& numbers() const { return rows_; }
  void merge(std::span<const double> numbers) {
    if (numbers.size() % row_ != 0) throw std::invalid_argument("the predictions of another scorer");
    rows_.insert(rows_.end(), numbers.begin(), numbers.end());
  }
  // The values of each sample, in the order of samples.
  std::vector<std::span<const double>> in_order() const {
    std::vector<std::span<const double>> rows;
    for (size_t begin = 0; begin < rows_.size(); begin += row_) rows.emplace_back(rows_.data() + begin, row_);
    std::sort(rows.begin(), rows.end(), [](auto a, auto b) { return a[0] < b[0]; });
    for (auto& row : rows) row = row.subspan(1);
    return rows;
  }

 private:
  size_t row_;
  std::vector<double> rows_;
};

// What is said of a sample: a class, or as many numbers as there are labels.
int64_t values_of(const LabelSet& labels) {
  return labels.kind() == LabelSet::Kind::kClasses ? 1 : labels.size();
}

std::string number_text(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%3.3f", value);
  return text;
}

class ClassScorer final : public Scorer {
 public:
  ClassScorer(ClassScoring wanted, bool keeps)
      : wanted_(std::move(wanted)),
        metric_(metrics::make_metric(wanted_.metric)),
        kept_(static_cast<size_t>(values_of(wanted_.labels))),
        keeps_(keeps) {}

  void add(const OutputBatch& batch) override {
    const RowValues* labels = batch.label("labels");
    switch (wanted_.labels.kind()) {
      case LabelSet::Kind::kClasses:
        return add_classes(batch, labels);
      case LabelSet::Kind::kRegression:
      case LabelSet::Kind::kNumbers:
        return add_numbers(batch, labels);
      case LabelSet::Kind::kMultiLabel:
        return add_several(batch, labels);
    }
  }

  // The number of numbers of the metric, these, and the predictions.
  std::vector<double> state() const override {
    const std::vector<double> judged = metric_->state();
    std::vector<double> numbers{static_cast<double>(judged.size())};
    numbers.insert(numbers.end(), judged.begin(), judged.end());
    numbers.insert(numbers.end(), kept_.numbers().begin(), kept_.numbers().end());
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.empty() || static_cast<double>(state.size()) <= state[0])
      throw std::invalid_argument("the state of another scorer");
    const auto judged = static_cast<size_t>(state[0]);
    metric_->merge(state.subspan(1, judged));
    kept_.merge(state.subspan(1 + judged));
  }

  metrics::MetricResults results() const override { return metric_->compute(); }

  std::vector<ResultFile> files(std::string_view prefix) const override {
    if (wanted_.predictions_file.empty() || prefix != "predict") return {};
    std::string text = "index\tprediction\n";
    int64_t index = 0;
    for (const std::span<const double> values : kept_.in_order())
      text += std::to_string(index++) + '\t' + said(values) + '\n';
    return {{wanted_.predictions_file, std::move(text)}};
  }

 private:
  void add_classes(const OutputBatch& batch, const RowValues* labels) {
    std::vector<int64_t> best;
    std::span<const int64_t> ids = batch.output.ids;
    if (wanted_.keeps_scores) {
      const auto width = static_cast<size_t>(batch.output.row_size());
      for (size_t begin = 0; begin < batch.output.scores.size(); begin += width) {
        const std::span<const float> row = batch.output.scores.subspan(begin, width);
        best.push_back(std::max_element(row.begin(), row.end()) - row.begin());
      }
      ids = best;
    }
    if (labels) metric_->add(metrics::ClassBatch{ids, labels->ids});
    keep(batch.samples, {ids.begin(), ids.end()});
  }

  void add_numbers(const OutputBatch& batch, const RowValues* labels) {
    const std::vector<double> predicted(batch.output.scores.begin(), batch.output.scores.end());
    if (labels) {
      const std::vector<double> actual(labels->scores.begin(), labels->scores.end());
      metric_->add(metrics::ScoreBatch{predicted, actual});
    }
    keep(batch.samples, predicted);
  }

  void add_several(const OutputBatch& batch, const RowValues* labels) {
    std::vector<int64_t> predicted;
    for (const float score : batch.output.scores) predicted.push_back(score > 0 ? 1 : 0);
    if (labels) {
      const std::vector<int64_t> actual(labels->scores.begin(), labels->scores.end());
      metric_->add(metrics::ClassBatch{predicted, actual});
    }
    keep(batch.samples, {predicted.begin(), predicted.end()});
  }

  void keep(std::span<const int64_t> samples, const std::vector<double>& values) {
    if (!keeps_) return;
    const size_t each = values.size() / std::max<size_t>(1, samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      kept_.add(samples[i], std::span(values).subspan(i * each, each));
  }

  std::string said(std::span<const double> values) const {
    const LabelSet& labels = wanted_.labels;
    if (labels.kind() == LabelSet::Kind::kClasses) return labels.name(static_cast<int64_t>(values[0]));
    if (labels.kind() == LabelSet::Kind::kRegression) return number_text(values[0]);
    std::vector<std::string> names;
    for (size_t i = 0; i < values.size(); ++i) {
      if (labels.kind() == LabelSet::Kind::kNumbers) {
        names.push_back(number_text(values[i]));
      } else if (values[i] != 0) {
        names.push_back(in_quotes(labels.name(static_cast<int64_t>(i))));
      }
    }
    return '[' + join(names, ", ") + ']';
  }

  ClassScoring wanted_;
  std::unique_ptr<metrics::Metric> metric_;
  KeptPredictions kept_;
  bool keeps_;
};

}  // namespace

Scoring class_scoring(const ClassScoring& wanted) {
  const bool classes = wanted.labels.kind() == LabelSet::Kind::kClasses;
  const int64_t values = values_of(wanted.labels);
  const metrics::MetricEntry& metric = metrics::find_metric(wanted.metric);
  Scoring scoring;
  scoring.outputs = classes && !wanted.keeps_scores ? OutputForm::kBestIds : OutputForm::kScores;
  scoring.metrics.assign(metric.keys.begin(), metric.keys.end());
  scoring.bytes_per_sample = metrics::bytes_per_example(wanted.metric);
  scoring.writes_files = !wanted.predictions_file.empty();
  if (scoring.writes_files) scoring.bytes_per_written_sample = (1 + values) * kNumberBytes;
  scoring.options = {{"metric", wanted.metric},
                     {"labels", wanted.labels.to_json_value()},
                     {"predictions_file", wanted.predictions_file},
                     {"mismatched_file", wanted.mismatched_file},
                     {"keeps_scores", wanted.keeps_scores}};
  return scoring;
}

std::unique_ptr<Scorer> make_class_scorer(const ScorerInput& input) {
  ClassScoring wanted{
      input.options.at("metric").get<std::string>(), LabelSet::from_json(input.options.at("labels")),
      input.options.at(input.mismatched ? "mismatched_file" : "predictions_file").get<std::string>(), "",
      input.options.at("keeps_scores").get<bool>()};
  const bool keeps = input.writes && !wanted.predictions_file.empty() && input.split == data::Split::kTest;
  return std::make_unique<ClassScorer>(std::move(wanted), keeps);
}

}  // namespace hftrain::tasks
