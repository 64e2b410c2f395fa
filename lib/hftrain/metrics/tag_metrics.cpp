// The metric of tag sequences, with the results that run_ner makes of it.
#include <algorithm>
#include <stdexcept>

#include "hftrain/base/error.h"
#include "hftrain/metrics/metric_makers.h"
#include "hftrain/metrics/seqeval.h"

namespace hftrain::metrics {
namespace {

// Sums: right tags, tags, then right, predicted and actual entities of each type that the tags can make. Behind them,
// where an entity can go over rows, a row each: its place, two begins, the number of types and these.
class Seqeval final : public Metric {
 public:
  Seqeval(const MetricOptions& options, std::vector<std::string> types)
      : options_(options),
        types_(std::move(types)),
        keeps_rows_(options.scheme == TagScheme::kLenient && leaves_open(options.tags)),
        sums_(2 + 3 * types_.size()) {}

  void add(const MetricBatch& batch) override {
    const auto& tags = batch_as<TagBatch>(batch);
    SeqevalCounts counts;
    size_t begin = 0;
    for (size_t i = 0; i < tags.lengths.size(); ++i) {
      const auto length = static_cast<size_t>(tags.lengths[i]);
      add_sequence(tags, begin, length, tags.positions.empty() ? sequences_ : tags.positions[i], counts);
      begin += length;
      ++sequences_;
    }
    sums_[0] += static_cast<double>(counts.right_tags);
    sums_[1] += static_cast<double>(counts.tags);
    for (size_t type = 0; type < types_.size(); ++type) {
      const EntityCounts& entities = counts.types[types_[type]];
      sums_[2 + 3 * type] += static_cast<double>(entities.right);
      sums_[3 + 3 * type] += static_cast<double>(entities.predicted);
      sums_[4 + 3 * type] += static_cast<double>(entities.actual);
    }
    if (keeps_rows_) {
      for (const OpenRow& row : counts.open) keep(row);
    }
  }

  std::vector<double> state() const override {
    std::vector<double> numbers = sums_;
    numbers.insert(numbers.end(), rows_.begin(), rows_.end());
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.size() < sums_.size() || (!keeps_rows_ && state.size() > sums_.size()))
      throw std::invalid_argument("the state of a metric of the same name and options");
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += state[i];
    const auto rows = state.subspan(sums_.size());
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }

  MetricResults compute() const override {
    MetricResults results;
    const SeqevalCounts counts = all_counts();
    for (const auto& [type, entities] : counts.types) {
      if (!options_.entity_level || entities.predicted + entities.actual == 0) continue;
      append(results, type + "_", entity_scores(entities));
      results.emplace_back(type + "_number", static_cast<double>(entities.actual));
    }
    const std::string prefix = options_.entity_level ? "overall_" : "";
    append(results, prefix, entity_scores(counts.overall()));
    results.emplace_back(prefix + "accuracy", sums_[0] / sums_[1]);
    return results;
  }

 private:
  void add_sequence(const TagBatch& tags, size_t begin, size_t length, int64_t place,
                    SeqevalCounts& counts) const {
    std::vector<std::string> predicted, actual;
    for (size_t i = begin; i < begin + length; ++i) {
      if (tags.references[i] == kIgnored) continue;
      predicted.push_back(tag_of(tags.predictions[i]));
      actual.push_back(tag_of(tags.references[i]));
    }
    counts.add(place, predicted, actual, options_.scheme);
  }
  const std::string& tag_of(int64_t id) const {
    if (id >= 0 && static_cast<size_t>(id) < options_.tags.size()) {
      return options_.tags[static_cast<size_t>(id)];
    }
    throw Error(ExitCode::kData, "label " + std::to_string(id) + " is no tag")
        .where("metrics")
        .why("there are " + std::to_string(options_.tags.size()) + " tags")
        .hint("labels are 0 and more, and -100 for what does not count");
  }
  void keep(const OpenRow& row) {
    const auto number = [&](int64_t value) { rows_.push_back(static_cast<double>(value)); };
    number(row.place);
    number(row.predicted_begin);
    number(row.actual_begin);
    number(static_cast<int64_t>(row.types.size()));
    for (const std::string& type : row.types)
      number(std::lower_bound(types_.begin(), types_.end(), type) - types_.begin());
  }
  SeqevalCounts all_counts() const {
    SeqevalCounts counts;
    for (size_t type = 0; type < types_.size(); ++type) {
      const auto sum = [&](size_t i) { return static_cast<int64_t>(sums_[i + 3 * type]); };
      counts.types[types_[type]] = {sum(2), sum(3), sum(4)};
    }
    for (size_t i = 0; i < rows_.size();) {
      const auto number = [&] { return static_cast<int64_t>(rows_.at(i++)); };
      OpenRow row{number(), number(), number(), {}};
      for (int64_t left = number(); left > 0; --left)
        row.types.push_back(types_.at(static_cast<size_t>(number())));
      counts.open.push_back(std::move(row));
    }
    counts.close();
    return counts;
  }
  static void append(MetricResults& results, const std::string& prefix, const EntityScores& scores) {
    results.emplace_back(prefix + "precision", scores.precision);
    results.emplace_back(prefix + "recall", scores.recall);
    results.emplace_back(prefix + "f1", scores.f1);
  }

  MetricOptions options_;
  std::vector<std::string> types_;
  bool keeps_rows_;
  int64_t sequences_ = 0;
  std::vector<double> sums_, rows_;
};

}  // namespace

std::unique_ptr<Metric> make_seqeval(const MetricOptions& options) {
  if (options.tags.empty()) throw std::invalid_argument("seqeval needs the tags of the ids");
  std::vector<std::string> types;
  for (const std::string& tag : options.tags) types.push_back(type_of_tag(tag, options.scheme));
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return std::make_unique<Seqeval>(options, std::move(types));
}

}  // namespace hftrain::metrics
