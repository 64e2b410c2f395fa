#include "hftrain/metrics/metric.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace hftrain::metrics {
namespace {

void check(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(what);
}

void check_lengths(const ClassBatch& batch) {
  check(batch.predictions.size() == batch.references.size(), "as many predictions as references");
}
void check_lengths(const ScoreBatch& batch) {
  check(batch.predictions.size() == batch.references.size(), "as many predictions as references");
}
void check_lengths(const TagBatch& batch) {
  check(batch.predictions.size() == batch.references.size(), "as many predictions as references");
  size_t tags = 0;
  for (const int64_t length : batch.lengths) {
    check(length >= 0, "lengths of 0 and more");
    tags += static_cast<size_t>(length);
  }
  check(tags == batch.references.size(), "lengths whose sum is the number of tags");
  check(batch.positions.empty() || batch.lengths.size() == batch.positions.size(),
        "a position for each sequence or none");
}
void check_lengths(const TextBatch& batch) {
  const size_t count = batch.predictions.size();
  check(count == batch.references.size(), "as many predictions as references");
  check(batch.positions.empty() || count == batch.positions.size(), "a position for each example or none");
  check(batch.generated_lengths.empty() || count == batch.generated_lengths.size(),
        "a length for each prediction or none");
}
void check_lengths(const AnswerBatch& batch) {
  const size_t count = batch.predictions.size();
  check(count == batch.references.size(), "as many predictions as references");
  check(batch.positions.empty() || count == batch.positions.size(), "a position for each example or none");
  check(batch.no_answer_probabilities.empty() || count == batch.no_answer_probabilities.size(),
        "a probability for each prediction or none");
}

}  // namespace

template <typename Batch>
const Batch& batch_as(const MetricBatch& batch) {
  const Batch* wanted = std::get_if<Batch>(&batch);
  check(wanted != nullptr, "the metric takes another kind of batch");
  check_lengths(*wanted);
  return *wanted;
}

template const ClassBatch& batch_as<ClassBatch>(const MetricBatch&);
template const ScoreBatch& batch_as<ScoreBatch>(const MetricBatch&);
template const TagBatch& batch_as<TagBatch>(const MetricBatch&);
template const TextBatch& batch_as<TextBatch>(const MetricBatch&);
template const AnswerBatch& batch_as<AnswerBatch>(const MetricBatch&);

void SumsMetric::merge(std::span<const double> state) {
  check(state.size() == sums_.size(), "the state of a metric of the same name and options");
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += state[i];
}

void RowsMetric::merge(std::span<const double> state) {
  check(state.size() % columns_ == 0, "the state of a metric of the same name and options");
  rows_.insert(rows_.end(), state.begin(), state.end());
}

void RowsMetric::add_row(std::span<const int64_t> positions, size_t i, std::span<const double> values) {
  rows_.push_back(static_cast<double>(positions.empty() ? static_cast<int64_t>(examples()) : positions[i]));
  rows_.insert(rows_.end(), values.begin(), values.end());
}

std::vector<double> RowsMetric::column(size_t column) const {
  std::vector<double> values;
  for (const size_t row : order()) values.push_back(rows_[row * columns_ + column]);
  return values;
}

std::vector<size_t> RowsMetric::order() const {
  std::vector<size_t> rows(examples());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return rows_[a * columns_] < rows_[b * columns_]; });
  return rows;
}

}  // namespace hftrain::metrics
