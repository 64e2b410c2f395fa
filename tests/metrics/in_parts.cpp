#include "metrics/in_parts.h"

#include <memory>

#include "hftrain/metrics/metric_table.h"

namespace hftrain::metrics {
namespace {

constexpr size_t kRanks = 3;

// Positions of the examples that a rank gets; the places that it reports are those of the whole batch.
std::vector<int64_t> places_of(size_t rank, size_t count) {
  std::vector<int64_t> places;
  for (size_t i = rank; i < count; i += kRanks) places.push_back(static_cast<int64_t>(i));
  return places;
}

template <typename T>
std::vector<T> part(std::span<const T> values, const std::vector<int64_t>& places) {
  std::vector<T> chosen;
  if (values.empty()) return chosen;
  for (const int64_t place : places) chosen.push_back(values[static_cast<size_t>(place)]);
  return chosen;
}

template <typename Batch>
void add_pairs(Metric& metric, const Batch& batch, size_t rank) {
  const auto places = places_of(rank, batch.references.size());
  const auto predictions = part(batch.predictions, places);
  const auto references = part(batch.references, places);
  metric.add(Batch{predictions, references});
}

void add_part(Metric& metric, const ClassBatch& batch, size_t rank) {
  add_pairs(metric, batch, rank);
}
void add_part(Metric& metric, const ScoreBatch& batch, size_t rank) {
  add_pairs(metric, batch, rank);
}
// Sequences are not dealt out here: a rank gets all or nothing.
void add_part(Metric& metric, const TagBatch& batch, size_t rank) {
  if (rank == 1) metric.add(batch);
}
void add_part(Metric& metric, const TextBatch& batch, size_t rank) {
  const auto places = places_of(rank, batch.references.size());
  const auto predictions = part(batch.predictions, places);
  const auto references = part(batch.references, places);
  const auto lengths = part(batch.generated_lengths, places);
  metric.add(TextBatch{predictions, references, places, lengths});
}
void add_part(Metric& metric, const AnswerBatch& batch, size_t rank) {
  const auto places = places_of(rank, batch.references.size());
  const auto predictions = part(batch.predictions, places);
  const auto references = part(batch.references, places);
  const auto probabilities = part(batch.no_answer_probabilities, places);
  metric.add(AnswerBatch{predictions, probabilities, references, places});
}

}  // namespace

MetricResults in_parts(const std::string& name, const MetricOptions& options, const MetricBatch& batch) {
  const std::unique_ptr<Metric> all = make_metric(name, options);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    const std::unique_ptr<Metric> metric = make_metric(name, options);
    std::visit([&](const auto& examples) { add_part(*metric, examples, rank); }, batch);
    all->merge(metric->state());
  }
  return all->compute();
}

}  // namespace hftrain::metrics
