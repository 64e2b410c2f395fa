// Metrics of answers to questions.
#include "hftrain/metrics/metric_makers.h"
#include "hftrain/metrics/squad.h"

namespace hftrain::metrics {
namespace {

// Sums: exact, f1, questions.
class Squad final : public SumsMetric {
 public:
  Squad() : SumsMetric(3) {}
  void add(const MetricBatch& batch) override {
    const auto& answers = batch_as<AnswerBatch>(batch);
    for (size_t i = 0; i < answers.predictions.size(); ++i) {
      const AnswerScore score = squad_score(answers.predictions[i], answers.references[i]);
      sums_[0] += score.exact;
      sums_[1] += score.f1;
      sums_[2] += 1;
    }
  }
  MetricResults compute() const override {
    return {{"exact_match", 100 * sums_[0] / sums_[2]}, {"f1", 100 * sums_[1] / sums_[2]}};
  }
};

// Rows: place, exact, f1, probability of no answer, has an answer, is answered.
class SquadV2 final : public RowsMetric {
 public:
  explicit SquadV2(double threshold) : RowsMetric(6), threshold_(threshold) {}
  void add(const MetricBatch& batch) override {
    const auto& answers = batch_as<AnswerBatch>(batch);
    for (size_t i = 0; i < answers.predictions.size(); ++i) {
      const auto& probabilities = answers.no_answer_probabilities;
      const SquadV2Score score = squad_v2_score(
          answers.predictions[i], probabilities.empty() ? 0 : probabilities[i], answers.references[i]);
      const double row[] = {score.score.exact, score.score.f1, score.no_answer_probability,
                            score.has_answer ? 1.0 : 0.0, score.is_answered ? 1.0 : 0.0};
      add_row(answers.positions, i, row);
    }
  }
  MetricResults compute() const override {
    const SquadV2Summary summary = summarize_squad_v2(questions(), threshold_);
    MetricResults results;
    append(results, "", summary.all);
    if (summary.has_answer) append(results, "HasAns_", *summary.has_answer);
    if (summary.no_answer) append(results, "NoAns_", *summary.no_answer);
    results.emplace_back("best_exact", summary.best_exact);
    results.emplace_back("best_exact_thresh", summary.best_exact_threshold);
    results.emplace_back("best_f1", summary.best_f1);
    results.emplace_back("best_f1_thresh", summary.best_f1_threshold);
    return results;
  }

 private:
  std::vector<SquadV2Score> questions() const {
    const auto exact = column(1), f1 = column(2), probability = column(3), has = column(4), is = column(5);
    std::vector<SquadV2Score> all;
    for (size_t i = 0; i < examples(); ++i) {
      all.push_back({{exact[i], f1[i]}, probability[i], has[i] != 0, is[i] != 0});
    }
    return all;
  }
  static void append(MetricResults& results, const std::string& prefix, const SquadV2Summary::Part& part) {
    results.emplace_back(prefix + "exact", part.exact);
    results.emplace_back(prefix + "f1", part.f1);
    results.emplace_back(prefix + "total", static_cast<double>(part.total));
  }
  double threshold_;
};

}  // namespace

std::unique_ptr<Metric> make_squad(const MetricOptions&) {
  return std::make_unique<Squad>();
}
std::unique_ptr<Metric> make_squad_v2(const MetricOptions& options) {
  return std::make_unique<SquadV2>(options.no_answer_threshold);
}

}  // namespace hftrain::metrics
