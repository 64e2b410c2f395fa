// Clipping by the total norm, and the dynamic loss scale of float16 training.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/base/json.h"

namespace hftrain::optim {

// L2 norm over all gradients of `parameters` (those that have one), a float32 scalar on their device; 0
// on the CPU without any.
at::Tensor gradient_norm(at::TensorList parameters);

// What clipping multiplies gradients by: min(1, max_norm/(norm + 1e-6)), beside `norm`, which may come from gradient_norm
// or from a reduction over the shards of all ranks. NaN for a NaN norm. Optimizers apply it (Pace::gradient_factor).
at::Tensor clip_factor(const at::Tensor& norm, double max_norm);

// How a loss scale moves. The defaults are torch's; DeepSpeed files give their own.
struct LossScale {
  double initial = 65536.0;
  bool dynamic = true;             // false: it stays at `initial`
  int64_t growth_interval = 2000;  // good updates in a row before ×2
  int64_t hysteresis = 1;          // overflows until ×0.5: 1 is the first one
  bool refill =
      false;  // the tolerance of hysteresis is whole again after every good update, not only after ×2
  double minimum = 0;  // an overflow at this scale ends the run
};

// Loss scale of float16: it grows after good updates and shrinks after an overflow, which also skips the
// update.
//   (loss * scaler.scale()).backward();
//   if (!scaler.unscale(parameters)) optimizer.step(rate);   // unscale() is true on overflow
//   scaler.update();
class GradientScaler {
 public:
  explicit GradientScaler(const LossScale& rule = {})
      : rule_(rule), scale_(rule.initial), tolerance_(rule.hysteresis) {}

  double scale() const noexcept { return scale_; }
  // Divides the gradients by the scale; true when any is infinite or NaN. Where gradients are sharded the
  // caller joins the answers of all ranks and reports the joint one through set_overflow.
  bool unscale(at::TensorList parameters);
  void set_overflow(bool overflow) noexcept { overflow_ = overflow; }
  // Adapts the scale to the last unscale. An overflow at the least scale is an Error (exit code 8).
  void update();

  Json state() const;
  void load_state(const Json& state);

 private:
  void shrink();
  void grow();

  LossScale rule_;
  double scale_;
  int64_t good_updates_ = 0;
  int64_t tolerance_;  // overflows left until the scale shrinks
  bool overflow_ = false;
};

}  // namespace hftrain::optim
