#include "hftrain/metrics/metric_table.h"

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/entities.h"
#include "hftrain/metrics/metric_makers.h"

namespace hftrain::metrics {
namespace {

using enum MetricInput;
using Keys = std::vector<std::string_view>;

constexpr int kNumber = sizeof(double);

const Keys& squad_v2_keys() {
  static const Keys keys{
      "exact",         "f1",       "total",       "HasAns_exact", "HasAns_f1",         "HasAns_total",
      "NoAns_exact",   "NoAns_f1", "NoAns_total", "best_exact",   "best_exact_thresh", "best_f1",
      "best_f1_thresh"};
  return keys;
}

const std::vector<MetricEntry>& entries() {
  static const Keys accuracy{"accuracy"}, accuracy_and_f1{"accuracy", "f1", "combined_score"};
  static const std::vector<MetricEntry> table{
      {"accuracy", kClasses, accuracy, "accuracy", true, 0, make_accuracy},
      {"precision", kClasses, {"precision"}, "precision", true, 0, make_precision},
      {"recall", kClasses, {"recall"}, "recall", true, 0, make_recall},
      {"f1", kClasses, {"f1"}, "f1", true, 0, make_f1},
      {"matthews_correlation",
       kClasses,
       {"matthews_correlation"},
       "matthews_correlation",
       true,
       0,
       make_matthews_correlation},
      {"mse", kScores, {"mse"}, "mse", false, 0, make_mean_squared_error},
      {"pearsonr", kScores, {"pearsonr"}, "pearsonr", true, 0, make_pearson},
      {"spearmanr", kScores, {"spearmanr"}, "spearmanr", true, 2 * kNumber, make_spearman},
      {"glue/cola",
       kClasses,
       {"matthews_correlation"},
       "matthews_correlation",
       true,
       0,
       make_matthews_correlation},
      {"glue/sst2", kClasses, accuracy, "accuracy", true, 0, make_accuracy},
      {"glue/mrpc", kClasses, accuracy_and_f1, "combined_score", true, 0, make_accuracy_and_f1},
      {"glue/qqp", kClasses, accuracy_and_f1, "combined_score", true, 0, make_accuracy_and_f1},
      {"glue/stsb",
       kScores,
       {"pearson", "spearmanr", "combined_score"},
       "combined_score",
       true,
       2 * kNumber,
       make_pearson_and_spearman},
      {"glue/mnli", kClasses, accuracy, "accuracy", true, 0, make_accuracy},
      {"glue/qnli", kClasses, accuracy, "accuracy", true, 0, make_accuracy},
      {"glue/rte", kClasses, accuracy, "accuracy", true, 0, make_accuracy},
      {"glue/wnli", kClasses, accuracy, "accuracy", true, 0, make_accuracy},
      {"seqeval",
       kTags,
       {"precision", "recall", "f1", "accuracy"},
       "f1",
       true,
       4 * sizeof(double),
       make_seqeval},
      {"exact_match", kTexts, {"exact_match"}, "exact_match", true, 0, make_exact_match},
      {"rouge",
       kTexts,
       {"rouge1", "rouge2", "rougeL", "rougeLsum", "gen_len"},
       "rougeLsum",
       true,
       6 * kNumber,
       make_rouge},
      {"sacrebleu", kTexts, {"bleu", "gen_len"}, "bleu", true, 0, make_bleu},
      {"squad", kAnswers, {"exact_match", "f1"}, "f1", true, 0, make_squad},
      {"squad_v2", kAnswers, squad_v2_keys(), "f1", true, 6 * kNumber, make_squad_v2},
  };
  return table;
}

}  // namespace

std::span<const MetricEntry> metric_table() {
  return entries();
}

const MetricEntry& find_metric(std::string_view name) {
  std::vector<std::string> names;
  for (const MetricEntry& entry : entries()) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  const std::string nearest = did_you_mean(nearest_names(name, names, 3));
  throw Error(ExitCode::kUsage, "unknown metric '" + std::string(name) + "'" + nearest)
      .where("metrics")
      .why("it is none of the metrics that hftrain computes")
      .hint("known ones: " + join(names, ", "));
}

std::unique_ptr<Metric> make_metric(std::string_view name, const MetricOptions& options) {
  return find_metric(name).make(options);
}

int bytes_per_example(std::string_view name, const MetricOptions& options) {
  const MetricEntry& entry = find_metric(name);
  if (entry.make == make_seqeval && !leaves_open(options.tags)) return 0;
  return entry.make == make_rouge && !options.resampling_seed ? 0 : entry.bytes_per_example;
}

}  // namespace hftrain::metrics
