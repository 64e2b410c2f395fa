// The events of a run, with the names and the order of transformers' TrainerCallback, and what a callback may ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hftrain/plugin/run.h"

namespace hftrain::plugin {

// What the loop will do next (TrainerControl). Intervals set the flags, callbacks may change them. What one rank asks for,
// all do: after an event that is followed by a decision a flag counts as set when any rank has set it.
struct Control {
  bool should_training_stop = false;
  bool should_epoch_stop = false;
  bool should_save = false;
  bool should_evaluate = false;
  bool should_log = false;
};

// Where the run stands (TrainerState).
struct State {
  int64_t global_step = 0;
  int64_t max_steps = 0;
  double epoch = 0;
  int64_t num_train_epochs = 0;
  std::optional<double> best_metric;
  std::string best_model_checkpoint;  // empty: none so far
  double total_flos = 0;
  int64_t num_input_tokens_seen = 0;
  // Of the newest update that the host knows of: on a GPU on_step_end may see those of the update before, on_log never does.
  double learning_rate = 0;
  double grad_norm = 0;
  bool is_world_process_zero = true;
};

// Made on every rank and called on its training thread. What it throws ends the run with a message that names the plug-in and
// the event, and exit code 1; memory that runs out in it keeps its own code (5, 6).
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
  virtual void on_log(const State&, Control&, const Metrics&) {}
  virtual void on_prediction_step(const State&, Control&) {}
  virtual void on_evaluate(const State&, Control&, const Metrics&) {}
  virtual void on_predict(const State&, Control&, const Metrics&) {}
  virtual void on_save(const State&, Control&) {}
  virtual void on_epoch_end(const State&, Control&) {}
  virtual void on_train_end(const State&, Control&) {}

  // What a checkpoint is to keep of it, any text in UTF-8; rank 0's is kept. Empty: nothing. Given back on every rank of a run that goes
  // on with --restore_callback_states_from_checkpoint.
  virtual std::string save_state() const { return ""; }
  virtual void load_state(const std::string&) {}
};

}  // namespace hftrain::plugin
