// trainer_state.json, as transformers' Trainer writes and reads it: its keys exactly, because the Trainer
// refuses a file with a key it does not know. State of our own goes elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/reporting/log_history.h"

namespace hftrain::reporting {

struct TrainerState {
  std::optional<int64_t> best_global_step;
  std::optional<double> best_metric;
  std::optional<std::string> best_model_checkpoint;  // as given: output_dir/checkpoint-N
  double epoch = 0;                                  // epoch index + share of it done
  int64_t eval_steps = 500;                          // absolute; 500 when unset
  int64_t global_step = 0;
  bool is_hyper_param_search = false;
  bool is_local_process_zero = true;
  bool is_world_process_zero = true;
  LogHistory log_history;
  int64_t logging_steps = 500;
  int64_t max_steps = 0;
  int64_t num_input_tokens_seen = 0;
  int64_t num_train_epochs = 0;
  int64_t save_steps = 500;
  Json stateful_callbacks = Json::object();  // name -> {args, attributes}
  double total_flos = 0;
  std::optional<int64_t> train_batch_size;  // of one rank
  std::optional<std::string> trial_name;
  Json trial_params = nullptr;
};

// The entry `TrainerControl` of stateful_callbacks, with the flags as they stand when saving.
struct ControlFlags {
  bool should_epoch_stop = false;
  bool should_evaluate = false;
  bool should_log = false;
  bool should_save = false;
  bool should_training_stop = false;
};
Json control_entry(const ControlFlags& flags);

// The text of the file: sorted keys, two-space indent, final newline.
std::string render_trainer_state(const TrainerState& state);

// Missing keys keep their defaults and unknown ones are ignored: files of older and newer releases load.
// Error(kData) naming `origin` for what is not such a file.
TrainerState parse_trainer_state(const std::string& text, const std::string& origin);

}  // namespace hftrain::reporting
