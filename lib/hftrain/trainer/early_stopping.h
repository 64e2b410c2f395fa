// Stops when the watched metric has not improved for `patience` evaluations (transformers'
// EarlyStoppingCallback).
#pragma once

#include "hftrain/trainer/callback.h"

namespace hftrain::trainer {

class EarlyStopping : public Callback {
 public:
  // `metric` is the full key ("eval_loss"). `stays_ended`: a run whose count is restored and through with its patience ends where it
  // begins; the Trainer's goes on to the next evaluation.
  EarlyStopping(std::string metric, bool greater_is_better, int64_t patience, double threshold,
                bool stays_ended = false)
      : metric_(std::move(metric)),
        greater_is_better_(greater_is_better),
        patience_(patience),
        threshold_(threshold),
        stays_ended_(stays_ended) {}

  void on_train_begin(const State& state, Control& control) override;
  // Runs before the best metric of `state` is updated.
  void on_evaluate(const State& state, Control& control, const Json& metrics) override;

  std::string state_name() const override { return "EarlyStoppingCallback"; }
  Json save_state() const override;
  void load_state(const Json& saved) override;

 private:
  std::string metric_;
  bool greater_is_better_;
  int64_t patience_;
  double threshold_;
  bool stays_ended_;
  int64_t counter_ = 0;
};

}  // namespace hftrain::trainer
