// A metric that takes an evaluation batch by batch, so that memory need not grow with it, and whose state is
// numbers that ranks can gather.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hftrain/metrics/bleu.h"
#include "hftrain/metrics/class_counts.h"
#include "hftrain/metrics/entities.h"

namespace hftrain::metrics {

// What a batch is made of. Spans of one struct have one length where nothing else is said.

// Class ids. A reference of kIgnored (-100) does not count.
struct ClassBatch {
  std::span<const int64_t> predictions;
  std::span<const int64_t> references;
};

// Real numbers, as regression has them.
struct ScoreBatch {
  std::span<const double> predictions;
  std::span<const double> references;
};

// Ids of tags, sequences one after another; `lengths` says how long each is. Positions whose reference is
// kIgnored are left out before entities are looked for. `positions` are the sequences' places in the evaluation set,
// from 0; empty: they come in its order.
struct TagBatch {
  std::span<const int64_t> predictions;
  std::span<const int64_t> references;
  std::span<const int64_t> lengths;
  std::span<const int64_t> positions;
};

// Texts. `positions` are the examples' places in the evaluation set; empty: they come in its order. Metrics
// whose value depends on the order of examples sort by them, so that it does not depend on the ranks.
// `generated_lengths` (tokens without padding; may be empty) give gen_len.
struct TextBatch {
  std::span<const std::string> predictions;
  std::span<const std::vector<std::string>> references;
  std::span<const int64_t> positions;
  std::span<const int64_t> generated_lengths;
};

// Answers to questions: predicted ones, the probability of none (empty: 0), accepted ones, and places as
// above.
struct AnswerBatch {
  std::span<const std::string> predictions;
  std::span<const double> no_answer_probabilities;
  std::span<const std::vector<std::string>> references;
  std::span<const int64_t> positions;
};

using MetricBatch = std::variant<ClassBatch, ScoreBatch, TagBatch, TextBatch, AnswerBatch>;

// Keys without a prefix (eval_), in the order in which the scripts report them.
using MetricResults = std::vector<std::pair<std::string, double>>;

// One per evaluation, used by one thread. Every rank adds what it has seen; then one takes in the states of
// the others with merge() and computes, or all do.
class Metric {
 public:
  virtual ~Metric() = default;
  // Throws std::invalid_argument for another kind of batch or lengths that do not fit (a mistake of the
  // caller), Error (kData) for data that the metric cannot judge.
  virtual void add(const MetricBatch& batch) = 0;
  // All that was added, as numbers; the length differs from rank to rank where examples are kept.
  virtual std::vector<double> state() const = 0;
  // Takes in the state() of another instance made with the same name and options.
  virtual void merge(std::span<const double> state) = 0;
  // Of nothing, shares and means are NaN.
  virtual MetricResults compute() const = 0;
};

// What the metrics can be told; each reads its own.
struct MetricOptions {
  ScoreRules scores;  // precision, recall, f1

  std::vector<std::string> tags;  // seqeval: the tag of each id
  TagScheme scheme = TagScheme::kLenient;
  bool entity_level = false;  // report every type of entities (--return_entity_level_metrics)

  bool use_stemmer = true;  // rouge
  // rouge: the seed of the medians that `evaluate` reports (bootstrap.h); nothing: plain means, which need
  // no more than sums.
  std::optional<uint32_t> resampling_seed;

  BleuOptions bleu;

  bool ignore_case = false;  // exact_match
  bool ignore_punctuation = false;
  bool ignore_numbers = false;  // the ten ASCII digits

  double no_answer_threshold = 1.0;  // squad_v2
};

// Sums that ranks add number by number.
class SumsMetric : public Metric {
 public:
  std::vector<double> state() const final { return sums_; }
  void merge(std::span<const double> state) final;

 protected:
  explicit SumsMetric(size_t count) : sums_(count) {}
  std::vector<double> sums_;
};

// Rows of numbers, one per example, the first of which is the example's place.
class RowsMetric : public Metric {
 public:
  std::vector<double> state() const final { return rows_; }
  void merge(std::span<const double> state) final;

 protected:
  explicit RowsMetric(size_t columns) : columns_(columns) {}
  // `values` are the row without the place; `positions` those of the batch, `i` the example in it.
  void add_row(std::span<const int64_t> positions, size_t i, std::span<const double> values);
  // Column `column` (1 is the first behind the place) in the order of places.
  std::vector<double> column(size_t column) const;
  size_t examples() const { return rows_.size() / columns_; }

 private:
  std::vector<size_t> order() const;

  size_t columns_;
  std::vector<double> rows_;
};

// The batch as the kind that a metric takes; std::invalid_argument for another one.
template <typename Batch>
const Batch& batch_as(const MetricBatch& batch);

extern template const ClassBatch& batch_as<ClassBatch>(const MetricBatch&);
extern template const ScoreBatch& batch_as<ScoreBatch>(const MetricBatch&);
extern template const TagBatch& batch_as<TagBatch>(const MetricBatch&);
extern template const TextBatch& batch_as<TextBatch>(const MetricBatch&);
extern template const AnswerBatch& batch_as<AnswerBatch>(const MetricBatch&);

}  // namespace hftrain::metrics
