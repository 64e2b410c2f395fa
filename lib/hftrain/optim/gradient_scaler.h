// The dynamic loss scale of float16 training.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/base/json.h"

namespace hftrain::optim {

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

// Loss scale of float16: it grows after good updates and shrinks after an overflow, which also skips the update. Its numbers are
// scalars on the device, which knows of an overflow long before the host does: nothing waits but what says so.
//   (loss * scaler.scale()).backward();
//   const Clipping clipping = clipping_of(squares, max_norm, scaler.scale());  // divides by it
//   const at::Tensor stuck = scaler.update(clipping.norm.isfinite().logical_not());
class GradientScaler {
 public:
  explicit GradientScaler(const LossScale& rule = {}, at::Device device = at::kCPU);

  at::Tensor scale() const;  // a float32 scalar
  // Adapts the scale to an update; `overflow`: a bool scalar on the device, the same on all ranks. Given back: a bool scalar, true for
  // an overflow at the least scale, behind which refuse_scale() ends the run.
  at::Tensor update(const at::Tensor& overflow);
  // Error(kDiverged). Waits.
  [[noreturn]] void refuse_scale() const;

  Json state() const;  // waits
  void load_state(const Json& state);

 private:
  at::Tensor scalar(double value) const;

  LossScale rule_;
  at::Device device_;
  at::Tensor scale_, good_updates_;
  at::Tensor tolerance_;  // overflows left until the scale shrinks
};

}  // namespace hftrain::optim
