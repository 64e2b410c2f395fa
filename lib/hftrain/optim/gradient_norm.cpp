#include "hftrain/optim/gradient_norm.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "hftrain/optim/cpu/elementwise.h"

namespace hftrain::optim {
namespace {

constexpr int64_t kChunk =
    1 << 15;  // numbers that one thread sums; fixed, so that threads do not change the sum

double sum_of_squares(const at::Tensor& gradient) {
  const at::Tensor values = gradient.to(at::kFloat).contiguous();
  const float* first = values.const_data_ptr<float>();
  const int64_t numel = values.numel(), chunks = (numel + kChunk - 1) / kChunk;
  std::vector<double> sums(static_cast<size_t>(chunks));
  at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t start = chunk * kChunk;
      sums[static_cast<size_t>(chunk)] = cpu::sum_of_squares(first + start, std::min(kChunk, numel - start));
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

// Each norm as float32: that of bfloat16 gradients would itself be rounded to 8 bits.
at::Tensor squared_norm_on_device(at::TensorList gradients) {
  return at::stack(at::_foreach_norm(gradients, 2, at::kFloat)).to(at::kDouble).square().sum();
}

at::Tensor squared_gradient_norm(at::TensorList parameters, at::Device device) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  // Made where it is wanted: a copy from the CPU's memory would wait for all that the device has to do.
  if (gradients.empty()) return at::zeros({}, at::TensorOptions(device).dtype(at::kDouble));
  if (!gradients.front().is_cpu()) return squared_norm_on_device(gradients);
  double sum = 0;
  for (const at::Tensor& gradient : gradients) sum += sum_of_squares(gradient);
  return at::scalar_tensor(sum, at::kDouble).to(device);
}

}  // namespace hftrain::optim
