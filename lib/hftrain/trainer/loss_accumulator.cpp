#include "hftrain/trainer/loss_accumulator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/div.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace hftrain::trainer {

LossAccumulator::LossAccumulator(at::Device device, bool filter)
    : sum_(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device))), filter_(filter) {}

void LossAccumulator::add(const at::Tensor& loss, int64_t steps_since_log) {
  const at::NoGradGuard no_grad;
  const at::Tensor value = loss.detach();
  if (!filter_) {
    sum_.add_(value);
    return;
  }
  sum_.add_(at::where(at::isfinite(value), value, at::div(sum_, at::Scalar(1 + steps_since_log))));
}

void LossAccumulator::restore(float sum) {
  sum_.fill_(sum);
}
void LossAccumulator::reset() {
  sum_.zero_();
}

}  // namespace hftrain::trainer
