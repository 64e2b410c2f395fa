#include "hftrain/trainer/early_stopping.h"

#include <cmath>

#include "hftrain/trainer/best_model.h"

namespace hftrain::trainer {

void EarlyStopping::on_train_begin(const State& /*state*/, Control& control) {
  if (stays_ended_ && counter_ >= patience_) control.should_training_stop = true;
}

void EarlyStopping::on_evaluate(const State& state, Control& control, const Json& metrics) {
  if (!metrics.contains(metric_)) return;
  const double value = metrics[metric_].get<double>();
  // The first evaluation counts as one whatever it gives, even NaN, as in the Trainer.
  const bool improved = !state.best_metric || (better_than(state.best_metric, value, greater_is_better_) &&
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
