// What the loop will do next. Intervals set the flags; callbacks may change them (transformers'
// TrainerControl).
#pragma once

namespace hftrain::trainer {

struct Control {
  bool should_training_stop = false;
  bool should_epoch_stop = false;
  bool should_save = false;
  bool should_evaluate = false;
  bool should_log = false;
};

}  // namespace hftrain::trainer
