#include "hftrain/tasks/token_scorer.h"

#include "hftrain/metrics/metric_table.h"

namespace hftrain::tasks {
namespace {

constexpr const char* kTokenMetric = "accuracy";

class TokenScorer final : public Scorer {
 public:
  explicit TokenScorer(Predicts predicts)
      : shift_(predicts == Predicts::kNextToken ? 1 : 0), metric_(metrics::make_metric(kTokenMetric)) {}

  void add(const OutputBatch& batch) override {
    const RowValues* labels = batch.label("labels");
    if (labels == nullptr) return;
    const auto length = static_cast<size_t>(batch.output.row_size());
    if (length <= shift_) return;
    const std::span<const int64_t> predicted = batch.output.ids, actual = labels->ids;
    for (size_t begin = 0; begin + length <= predicted.size(); begin += length) {
      metric_->add(metrics::ClassBatch{predicted.subspan(begin, length - shift_),
                                       actual.subspan(begin + shift_, length - shift_)});
    }
  }
  std::vector<double> state() const override { return metric_->state(); }
  void merge(std::span<const double> state) override { metric_->merge(state); }
  metrics::MetricResults results() const override { return metric_->compute(); }

 private:
  size_t shift_;
  std::unique_ptr<metrics::Metric> metric_;
};

}  // namespace

Scoring token_scoring() {
  const metrics::MetricEntry& metric = metrics::find_metric(kTokenMetric);
  return {.outputs = OutputForm::kBestIds, .metrics = {metric.keys.begin(), metric.keys.end()}};
}

std::unique_ptr<Scorer> make_token_scorer(Predicts predicts) {
  return std::make_unique<TokenScorer>(predicts);
}

}  // namespace hftrain::tasks
