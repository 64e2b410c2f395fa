// The events of a run, for whoever wants to watch or steer it (transformers' TrainerCallback).
#pragma once

#include <memory>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/trainer/control.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Called on the training thread of every rank, in the Trainer's order (docs/callbacks.md). `control` may be changed. Ranks do not
// ask each other what the callbacks of add_callback() want: those decide only from what all ranks share (metrics, steps).
// They do where a run has callbacks of Extensions, which may decide from anything.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_init_end(const State&, Control&) {}
  virtual void on_train_begin(const State&, Control&) {}
  virtual void on_epoch_begin(const State&, Control&) {}
  virtual void on_step_begin(const State&, Control&) {}
  virtual void on_substep_end(const State&, Control&) {}
  virtual void on_pre_optimizer_step(const State&, Control&) {}
  virtual void on_optimizer_step(const State&, Control&) {}
  virtual void on_step_end(const State&, Control&) {}
  // Every record: of training at an interval, of evaluations, of the end of training.
  virtual void on_log(const State&, Control&, const Json& /*record*/) {}
  virtual void on_prediction_step(const State&, Control&) {}  // a batch of an evaluation or a prediction
  virtual void on_evaluate(const State&, Control&, const Json& /*metrics*/) {}
  virtual void on_predict(const State&, Control&, const Json& /*metrics*/) {}
  virtual void on_save(const State&, Control&) {}
  virtual void on_epoch_end(const State&, Control&) {}
  virtual void on_train_end(const State&, Control&) {}

  // Name and state in trainer_state.json's stateful_callbacks; an empty name keeps nothing.
  virtual std::string state_name() const { return ""; }
  virtual Json save_state() const { return Json::object(); }
  virtual void load_state(const Json&) {}
};

using Callbacks = std::vector<std::unique_ptr<Callback>>;

}  // namespace hftrain::trainer
