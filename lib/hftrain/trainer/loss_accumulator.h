// The running loss between two log records, kept on the device so that no step waits for it.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::trainer {

// Sum of micro-batch losses (float32 scalar on the rank's device). With the filter on, a NaN or infinite loss
// is replaced by the mean so far, sum / (1 + steps since the last record): logs stay readable
// (--logging_nan_inf_filter).
class LossAccumulator {
 public:
  LossAccumulator(at::Device device, bool filter);

  void add(const at::Tensor& loss, int64_t steps_since_log);
  const at::Tensor& sum() const { return sum_; }
  void restore(float sum);
  void reset();

 private:
  at::Tensor sum_;
  bool filter_;
};

}  // namespace hftrain::trainer
