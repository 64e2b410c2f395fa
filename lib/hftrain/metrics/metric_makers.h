// Makers of the table's metrics (metric_table.cpp); each reads its own options.
#pragma once

#include <memory>
#include <string_view>

#include "hftrain/metrics/metric.h"

namespace hftrain::metrics {

// Of class ids and numbers.
std::unique_ptr<Metric> make_accuracy(const MetricOptions& options);
std::unique_ptr<Metric> make_precision(const MetricOptions& options);
std::unique_ptr<Metric> make_recall(const MetricOptions& options);
std::unique_ptr<Metric> make_f1(const MetricOptions& options);
std::unique_ptr<Metric> make_matthews_correlation(const MetricOptions& options);
std::unique_ptr<Metric> make_mean_squared_error(const MetricOptions& options);
std::unique_ptr<Metric> make_pearson(const MetricOptions& options);
std::unique_ptr<Metric> make_spearman(const MetricOptions& options);
// GLUE's pairs, with the combined_score of run_glue (their mean).
std::unique_ptr<Metric> make_accuracy_and_f1(const MetricOptions& options);
std::unique_ptr<Metric> make_pearson_and_spearman(const MetricOptions& options);

// Of tags, texts and answers.
std::unique_ptr<Metric> make_seqeval(const MetricOptions& options);
std::unique_ptr<Metric> make_exact_match(const MetricOptions& options);
std::unique_ptr<Metric> make_rouge(const MetricOptions& options);
std::unique_ptr<Metric> make_bleu(const MetricOptions& options);
std::unique_ptr<Metric> make_squad(const MetricOptions& options);
std::unique_ptr<Metric> make_squad_v2(const MetricOptions& options);

}  // namespace hftrain::metrics
