// The metric of tag sequences, with the results that run_ner makes of it.
#include <algorithm>
#include <stdexcept>

#include "hftrain/base/error.h"
#include "hftrain/metrics/metric_makers.h"
#include "hftrain/metrics/seqeval.h"

namespace hftrain::metrics {
namespace {

// Sums: right tags, tags, then right, predicted and actual entities of each type that the tags can make.
class Seqeval final : public SumsMetric {
 public:
  Seqeval(const MetricOptions& options, std::vector<std::string> types)
      : SumsMetric(2 + 3 * types.size()), options_(options), types_(std::move(types)) {}

  void add(const MetricBatch& batch) override {
    const auto& tags = batch_as<TagBatch>(batch);
    SeqevalCounts counts;
    size_t begin = 0;
    for (const int64_t length : tags.lengths) {
      add_sequence(tags, begin, static_cast<size_t>(length), counts);
      begin += static_cast<size_t>(length);
    }
    sums_[0] += static_cast<double>(counts.right_tags);
    sums_[1] += static_cast<double>(counts.tags);
    for (size_t type = 0; type < types_.size(); ++type) {
      const EntityCounts& entities = counts.types[types_[type]];
      sums_[2 + 3 * type] += static_cast<double>(entities.right);
      sums_[3 + 3 * type] += static_cast<double>(entities.predicted);
      sums_[4 + 3 * type] += static_cast<double>(entities.actual);
    }
  }

  MetricResults compute() const override {
    MetricResults results;
    SeqevalCounts counts;
    for (size_t type = 0; type < types_.size(); ++type) {
      const EntityCounts entities = counts_of(type);
      counts.types[types_[type]] = entities;
      if (!options_.entity_level || entities.predicted + entities.actual == 0) continue;
      append(results, types_[type] + "_", entity_scores(entities));
      results.emplace_back(types_[type] + "_number", static_cast<double>(entities.actual));
    }
    const std::string prefix = options_.entity_level ? "overall_" : "";
    append(results, prefix, entity_scores(counts.overall()));
    results.emplace_back(prefix + "accuracy", sums_[0] / sums_[1]);
    return results;
  }

 private:
  void add_sequence(const TagBatch& tags, size_t begin, size_t length, SeqevalCounts& counts) const {
    std::vector<std::string> predicted, actual;
    for (size_t i = begin; i < begin + length; ++i) {
      if (tags.references[i] == kIgnored) continue;
      predicted.push_back(tag_of(tags.predictions[i]));
      actual.push_back(tag_of(tags.references[i]));
    }
    counts.add(predicted, actual, options_.scheme);
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
  EntityCounts counts_of(size_t type) const {
    const auto sum = [&](size_t i) { return static_cast<int64_t>(sums_[i + 3 * type]); };
    return {sum(2), sum(3), sum(4)};
  }
  static void append(MetricResults& results, const std::string& prefix, const EntityScores& scores) {
    results.emplace_back(prefix + "precision", scores.precision);
    results.emplace_back(prefix + "recall", scores.recall);
    results.emplace_back(prefix + "f1", scores.f1);
  }

  MetricOptions options_;
  std::vector<std::string> types_;
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
