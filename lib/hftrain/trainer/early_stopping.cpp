#include "hftrain/trainer/early_stopping.h"

#include <cmath>

namespace hftrain::trainer {

void EarlyStopping::on_evaluate(const State& state, Control& control, const Json& metrics) {
  if (!metrics.contains(metric_)) return;
  const double value = metrics[metric_].get<double>();
  const bool improved =
      !state.best_metric || ((greater_is_better_ ? value > *state.best_metric : value < *state.best_metric) &&
                             std::abs(value - *state.best_metric) > threshold_);
  counter_ = improved ? 0 : counter_ + 1;
  if (counter_ >= patience_) control.should_training_stop = true;
}

Json EarlyStopping::save_state() const {
  return {{"args", {{"early_stopping_patience", patience_}, {"early_stopping_threshold", threshold_}}},
          {"attributes", {{"early_stopping_patience_counter", counter_}}}};
}

void EarlyStopping::load_state(const Json& saved) {
  if (saved.contains("attributes"))
    counter_ = saved["attributes"].value("early_stopping_patience_counter", counter_);
}

}  // namespace hftrain::trainer
