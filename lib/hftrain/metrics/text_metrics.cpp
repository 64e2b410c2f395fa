// Metrics of texts, with the results that the example scripts make of them.
#include <algorithm>

#include "hftrain/metrics/bootstrap.h"
#include "hftrain/metrics/metric_makers.h"
#include "hftrain/metrics/python_text.h"
#include "hftrain/metrics/rouge.h"

namespace hftrain::metrics {
namespace {

// Sums: equal texts, texts.
class ExactMatch final : public SumsMetric {
 public:
  explicit ExactMatch(const MetricOptions& options) : SumsMetric(2), options_(options) {}
  void add(const MetricBatch& batch) override {
    const auto& texts = batch_as<TextBatch>(batch);
    for (size_t i = 0; i < texts.predictions.size(); ++i) {
      const std::string prediction = compared(texts.predictions[i]);
      sums_[0] += std::any_of(texts.references[i].begin(), texts.references[i].end(),
                              [&](const std::string& text) { return compared(text) == prediction; });
      sums_[1] += 1;
    }
  }
  MetricResults compute() const override { return {{"exact_match", sums_[0] / sums_[1]}}; }

 private:
  std::string compared(const std::string& text) const {
    std::string result = options_.ignore_case ? python_lower(text) : text;
    if (options_.ignore_punctuation) result = without_punctuation(result);
    if (options_.ignore_numbers) std::erase_if(result, [](char c) { return c >= '0' && c <= '9'; });
    return result;
  }
  MetricOptions options_;
};

// The mean length of generated texts, from its sum; nothing where lengths were not given.
void append_mean_length(MetricResults& results, double sum, double count) {
  if (count > 0) results.emplace_back("gen_len", sum / count);
}

constexpr const char* kRougeNames[] = {"rouge1", "rouge2", "rougeL", "rougeLsum"};

std::vector<double> rouge_f1s(const TextBatch& texts, size_t i, bool use_stemmer) {
  std::vector<RougeKind> kinds;
  for (const char* name : kRougeNames) kinds.push_back(rouge_kind(name));
  std::vector<double> values;
  for (const RougeScore& score : rouge(texts.predictions[i], texts.references[i], kinds, use_stemmer)) {
    values.push_back(score.f1);
  }
  return values;
}

// Percent, rounded as run_summarization does.
MetricResults rouge_results(const std::vector<double>& values) {
  MetricResults results;
  for (size_t kind = 0; kind < std::size(kRougeNames); ++kind) {
    results.emplace_back(kRougeNames[kind], python_round(values[kind] * 100, 4, true));
  }
  return results;
}

// Sums: the four F1, examples, tokens generated, examples with such a length.
class MeanRouge final : public SumsMetric {
 public:
  explicit MeanRouge(bool use_stemmer) : SumsMetric(7), use_stemmer_(use_stemmer) {}
  void add(const MetricBatch& batch) override {
    const auto& texts = batch_as<TextBatch>(batch);
    for (size_t i = 0; i < texts.predictions.size(); ++i) {
      const std::vector<double> values = rouge_f1s(texts, i, use_stemmer_);
      for (size_t kind = 0; kind < values.size(); ++kind) sums_[kind] += values[kind];
      sums_[4] += 1;
    }
    for (const int64_t length : texts.generated_lengths)
      sums_[5] += static_cast<double>(length), sums_[6] += 1;
  }
  MetricResults compute() const override {
    std::vector<double> means(sums_.begin(), sums_.begin() + 4);
    for (double& mean : means) mean /= sums_[4];
    MetricResults results = rouge_results(means);
    append_mean_length(results, sums_[5], sums_[6]);
    return results;
  }

 private:
  bool use_stemmer_;
};

// Rows: place, the four F1, tokens generated or -1.
class ResampledRouge final : public RowsMetric {
 public:
  ResampledRouge(bool use_stemmer, uint32_t seed) : RowsMetric(6), use_stemmer_(use_stemmer), seed_(seed) {}
  void add(const MetricBatch& batch) override {
    const auto& texts = batch_as<TextBatch>(batch);
    for (size_t i = 0; i < texts.predictions.size(); ++i) {
      std::vector<double> row = rouge_f1s(texts, i, use_stemmer_);
      row.push_back(texts.generated_lengths.empty() ? -1 : static_cast<double>(texts.generated_lengths[i]));
      add_row(texts.positions, i, row);
    }
  }
  MetricResults compute() const override {
    const std::vector<double> columns[] = {column(1), column(2), column(3), column(4)};
    MetricResults results = rouge_results(bootstrap_medians(columns, seed_));
    double sum = 0, count = 0;
    for (const double length : column(5)) {
      if (length >= 0) sum += length, count += 1;
    }
    append_mean_length(results, sum, count);
    return results;
  }

 private:
  bool use_stemmer_;
  uint32_t seed_;
};

// Sums: lengths of predictions and references, right n-grams and n-grams of each order, tokens generated,
// examples with such a length. Rounded as run_translation does.
class Bleu final : public SumsMetric {
 public:
  explicit Bleu(const BleuOptions& options)
      : SumsMetric(4 + 2 * static_cast<size_t>(options.max_order)), options_(options) {}
  void add(const MetricBatch& batch) override {
    const auto& texts = batch_as<TextBatch>(batch);
    const auto orders = static_cast<size_t>(options_.max_order);
    for (size_t i = 0; i < texts.predictions.size(); ++i) {
      const BleuCounts counts = bleu_counts(texts.predictions[i], texts.references[i], options_);
      sums_[0] += static_cast<double>(counts.sys_len);
      sums_[1] += static_cast<double>(counts.ref_len);
      for (size_t n = 0; n < orders; ++n) {
        sums_[2 + n] += static_cast<double>(counts.correct[n]);
        sums_[2 + orders + n] += static_cast<double>(counts.total[n]);
      }
    }
    for (const int64_t length : texts.generated_lengths) {
      sums_[2 + 2 * orders] += static_cast<double>(length);
      sums_[3 + 2 * orders] += 1;
    }
  }
  MetricResults compute() const override {
    const auto orders = static_cast<size_t>(options_.max_order);
    const auto sum = [&](size_t i) { return static_cast<int64_t>(sums_[i]); };
    BleuCounts counts(options_.max_order);
    counts.sys_len = sum(0), counts.ref_len = sum(1);
    for (size_t n = 0; n < orders; ++n) counts.correct[n] = sum(2 + n), counts.total[n] = sum(2 + orders + n);
    MetricResults results{{"bleu", bleu_score(counts, options_).score}};
    append_mean_length(results, sums_[2 + 2 * orders], sums_[3 + 2 * orders]);
    for (auto& [key, value] : results) value = python_round(value, 4, key == "gen_len");
    return results;
  }

 private:
  BleuOptions options_;
};

}  // namespace

std::unique_ptr<Metric> make_exact_match(const MetricOptions& options) {
  return std::make_unique<ExactMatch>(options);
}
std::unique_ptr<Metric> make_rouge(const MetricOptions& options) {
  if (!options.resampling_seed) return std::make_unique<MeanRouge>(options.use_stemmer);
  return std::make_unique<ResampledRouge>(options.use_stemmer, *options.resampling_seed);
}
std::unique_ptr<Metric> make_bleu(const MetricOptions& options) {
  return std::make_unique<Bleu>(options.bleu);
}

}  // namespace hftrain::metrics
