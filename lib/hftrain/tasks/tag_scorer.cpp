#include "hftrain/tasks/tag_scorer.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "hftrain/base/text.h"
#include "hftrain/metrics/entities.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/tasks/tag_encoder.h"

namespace hftrain::tasks {
namespace {

constexpr const char* kTagMetric = "seqeval";
constexpr const char* kPredictionsFile = "predictions.txt";

class TagScorer final : public Scorer {
 public:
  // `rows`: those whose predictions are kept, or null.
  TagScorer(std::vector<std::string> tags, bool entity_level, bool padded_on_left,
            std::shared_ptr<const data::Dataset> rows)
      : tags_(std::move(tags)),
        metric_(metrics::make_metric(kTagMetric, {.tags = tags_, .entity_level = entity_level})),
        padded_on_left_(padded_on_left),
        rows_(std::move(rows)) {}

  void add(const OutputBatch& batch) override {
    const auto length = static_cast<size_t>(batch.output.row_size());
    if (const RowValues* labels = batch.label("labels")) {
      const std::vector<int64_t> lengths(batch.samples.size(), batch.output.row_size());
      metric_->add(metrics::TagBatch{batch.output.ids, labels->ids, lengths, batch.samples});
    }
    if (!rows_) return;
    for (size_t row = 0; row < batch.samples.size(); ++row)
      keep(batch.samples[row], batch.output.ids.subspan(row * length, length));
  }

  // The number of numbers of the metric, these, and of each row its place, its tags' number, and they.
  std::vector<double> state() const override {
    const std::vector<double> judged = metric_->state();
    std::vector<double> numbers{static_cast<double>(judged.size())};
    numbers.insert(numbers.end(), judged.begin(), judged.end());
    for (const auto& [sample, tags] : predicted_) {
      numbers.push_back(static_cast<double>(sample));
      numbers.push_back(static_cast<double>(tags.size()));
      numbers.insert(numbers.end(), tags.begin(), tags.end());
    }
    return numbers;
  }

  void merge(std::span<const double> state) override {
    const auto take = [&](size_t count) {
      if (state.size() < count) throw std::invalid_argument("the state of another scorer");
      const std::span<const double> taken = state.first(count);
      state = state.subspan(count);
      return taken;
    };
    metric_->merge(take(static_cast<size_t>(take(1)[0])));
    while (!state.empty()) {
      const std::span<const double> head = take(2);
      const std::span<const double> tags = take(static_cast<size_t>(head[1]));
      predicted_[static_cast<int64_t>(head[0])].assign(tags.begin(), tags.end());
    }
  }

  metrics::MetricResults results() const override { return metric_->compute(); }

  std::vector<ResultFile> files(std::string_view prefix) const override {
    if (!rows_ || prefix != "predict") return {};
    std::string text;
    for (const auto& [sample, tags] : predicted_) {
      std::vector<std::string> names;
      for (const int32_t tag : tags) names.push_back(tags_.at(static_cast<size_t>(tag)));
      text += join(names, " ") + '\n';
    }
    return {{kPredictionsFile, std::move(text)}};
  }

 private:
  // The tags of its words.
  void keep(int64_t sample, std::span<const int64_t> output) {
    const data::ColumnFile& column = rows_->column(kWordStarts);
    std::vector<int64_t> starts(static_cast<size_t>(column.length(sample)));
    column.copy_to(sample, starts.data());
    if (starts.size() > output.size()) throw std::invalid_argument("a row has more tokens than outputs");
    const size_t padding = padded_on_left_ ? output.size() - starts.size() : 0;
    std::vector<int32_t>& tags = predicted_[sample];
    for (size_t i = 0; i < starts.size(); ++i) {
      if (starts[i] != 0) tags.push_back(static_cast<int32_t>(output[padding + i]));
    }
  }

  std::vector<std::string> tags_;
  std::unique_ptr<metrics::Metric> metric_;
  bool padded_on_left_;
  std::shared_ptr<const data::Dataset> rows_;
  std::map<int64_t, std::vector<int32_t>> predicted_;  // by the sample's place
};

std::vector<std::string> keys_of(const TagScoring& wanted) {
  const auto& overall = metrics::find_metric(kTagMetric).keys;
  if (!wanted.entity_level) return {overall.begin(), overall.end()};
  std::set<std::string> prefixes;
  for (const std::string& tag : wanted.tags)
    prefixes.insert(metrics::type_of_tag(tag, metrics::TagScheme::kLenient) + '_');
  std::vector<std::string> keys;
  for (const std::string& prefix : prefixes) {
    for (const char* key : {"precision", "recall", "f1", "number"}) keys.push_back(prefix + key);
  }
  for (const std::string_view key : overall) keys.push_back("overall_" + std::string(key));
  return keys;
}

}  // namespace

Scoring tag_scoring(const TagScoring& wanted) {
  return {.outputs = OutputForm::kBestIds,
          .metrics = keys_of(wanted),
          .bytes_per_sample = metrics::bytes_per_example(kTagMetric, {.tags = wanted.tags}),
          .bytes_per_written_sample = (2 + wanted.longest) * static_cast<int64_t>(sizeof(double)),
          .writes_files = true,
          .options = {{"tags", wanted.tags},
                      {"entity_level", wanted.entity_level},
                      {"pads_on_left", wanted.pads_on_left}}};
}

std::unique_ptr<Scorer> make_tag_scorer(const ScorerInput& input) {
  const bool keeps = input.writes && input.split == data::Split::kTest;
  return std::make_unique<TagScorer>(
      input.options.at("tags").get<std::vector<std::string>>(), input.options.at("entity_level").get<bool>(),
      input.options.at("pads_on_left").get<bool>(), keeps ? input.dataset : nullptr);
}

}  // namespace hftrain::tasks
