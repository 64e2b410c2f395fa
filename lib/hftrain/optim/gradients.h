// Clipping by the total norm, and the dynamic loss scale of float16 training.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/base/json.h"

namespace hftrain::optim {

// L2 norm over all gradients of `parameters` (those that have one), a float32 scalar on their device; 0
// without any.
at::Tensor gradient_norm(at::TensorList parameters);

// Multiplies the gradients by min(1, max_norm/(norm + 1e-6)), also when that is 1. `norm` may come from
// gradient_norm or from a reduction over the shards of all ranks. A NaN norm makes the gradients NaN.
void clip_gradients(at::TensorList parameters, const at::Tensor& norm, double max_norm);

// gradient_norm, then clip_gradients; returns the norm before clipping.
at::Tensor clip_grad_norm(at::TensorList parameters, double max_norm);

// Loss scale: ×2 after 2000 good updates, ×0.5 after an overflow, which also skips the update.
//   (loss * scaler.scale()).backward();
//   if (!scaler.unscale(parameters)) optimizer.step(rate);   // unscale() is true on overflow
//   scaler.update();
class GradientScaler {
 public:
  explicit GradientScaler(double initial_scale = 65536.0) : scale_(initial_scale) {}

  double scale() const noexcept { return scale_; }
  // Divides the gradients by the scale; true when any is infinite or NaN. Where gradients are sharded the
  // caller joins the answers of all ranks and reports the joint one through set_overflow.
  bool unscale(at::TensorList parameters);
  void set_overflow(bool overflow) noexcept { overflow_ = overflow; }
  // Adapts the scale to the last unscale.
  void update();

  Json state() const;
  void load_state(const Json& state);

 private:
  double scale_;
  int64_t good_updates_ = 0;
  bool overflow_ = false;
};

}  // namespace hftrain::optim
