// Registers the kernels of kernels.h for the operators that nn/ops.h declares; shapes and dtypes are told there.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include <tuple>

#include "hftrain/cuda/kernels.h"

namespace hftrain::cuda {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;

Dtype dtype_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kHalf:
      return Dtype::kHalf;
    case at::kBFloat16:
      return Dtype::kBFloat16;
    default:
      TORCH_CHECK(x.scalar_type() == at::kFloat, "no CUDA kernel for ", x.scalar_type());
      return Dtype::kFloat;
  }
}

// The device of a launch is current while it lives; its stream is LibTorch's; what went wrong is thrown.
class Launch {
 public:
  explicit Launch(const at::Tensor& x) : guard_(x.device()), stream_(at::cuda::getCurrentCUDAStream()) {}
  cudaStream_t stream() const { return stream_; }
  void check() const { C10_CUDA_KERNEL_LAUNCH_CHECK(); }

 private:
  c10::cuda::CUDAGuard guard_;
  cudaStream_t stream_;
};

Pair rms_norm_operator(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const int64_t width = x.size(-1), rows = x.numel() / width;
  at::Tensor out = at::empty_like(x), rstd = at::empty({rows}, x.options().dtype(at::kFloat));
  const Launch launch(x);
  rms_norm(dtype_of(x), x.const_data_ptr(), weight.const_data_ptr(), out.data_ptr(), rstd.data_ptr<float>(),
           rows, width, static_cast<float>(eps), launch.stream());
  launch.check();
  return {out, rstd};
}

Pair rms_norm_backward_operator(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& rstd) {
  const int64_t width = x.size(-1), rows = rstd.numel();
  at::Tensor grad_x = at::empty_like(x);
  const at::Tensor partial = at::empty({rms_norm_partials(rows, width), width}, rstd.options());
  const Launch launch(x);
  rms_norm_backward(dtype_of(x), grad.const_data_ptr(), x.const_data_ptr(), weight.const_data_ptr(),
                    rstd.const_data_ptr<float>(), grad_x.data_ptr(), partial.data_ptr<float>(), rows, width,
                    launch.stream());
  launch.check();
  return {grad_x, partial.sum(0).to(weight.scalar_type())};
}

at::Tensor gelu_tanh_operator(const at::Tensor& x) {
  at::Tensor out = at::empty_like(x);
  const Launch launch(x);
  gelu_tanh(dtype_of(x), x.const_data_ptr(), out.data_ptr(), x.numel(), launch.stream());
  launch.check();
  return out;
}

at::Tensor gelu_tanh_backward_operator(const at::Tensor& grad, const at::Tensor& x) {
  at::Tensor grad_x = at::empty_like(x);
  const Launch launch(x);
  gelu_tanh_backward(dtype_of(x), grad.const_data_ptr(), x.const_data_ptr(), grad_x.data_ptr(), x.numel(),
                     launch.stream());
  launch.check();
  return grad_x;
}

at::Tensor swiglu_operator(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = at::empty_like(gate);
  const Launch launch(gate);
  swiglu(dtype_of(gate), gate.const_data_ptr(), up.const_data_ptr(), out.data_ptr(), gate.numel(),
         launch.stream());
  launch.check();
  return out;
}

Pair swiglu_backward_operator(const at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor grad_gate = at::empty_like(gate), grad_up = at::empty_like(up);
  const Launch launch(gate);
  swiglu_backward(dtype_of(gate), grad.const_data_ptr(), gate.const_data_ptr(), up.const_data_ptr(),
                  grad_gate.data_ptr(), grad_up.data_ptr(), gate.numel(), launch.stream());
  launch.check();
  return {grad_gate, grad_up};
}

at::Tensor rotate_operator(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool inverse) {
  at::Tensor out = at::empty_like(x);
  const RotaryShape shape{x.size(0) * x.size(1), x.size(1), x.size(2), x.size(3) / 2};
  const Launch launch(x);
  rotate(dtype_of(x), x.const_data_ptr(), cos.const_data_ptr<float>(), sin.const_data_ptr<float>(),
         out.data_ptr(), shape, inverse ? -1.0f : 1.0f, launch.stream());
  launch.check();
  return out;
}

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets, double smoothing,
                             const float* scale) {
  const int64_t rows = logits.size(0), vocab = logits.size(1);
  const at::Tensor losses = at::empty({rows}, logits.options().dtype(at::kFloat));
  const Launch launch(logits);
  TORCH_CHECK(logits.stride(1) == 1 || vocab == 1, "numbers of a row of logits lie side by side");
  cross_entropy(dtype_of(logits), logits.data_ptr(), logits.stride(0), targets.const_data_ptr<int64_t>(),
                losses.data_ptr<float>(), rows, vocab, static_cast<float>(smoothing), scale, launch.stream());
  launch.check();
  return losses.sum(at::kDouble);
}

at::Tensor cross_entropy_operator(const at::Tensor& logits, const at::Tensor& targets, double smoothing) {
  return cross_entropy_sum(logits, targets, smoothing, nullptr);
}

at::Tensor cross_entropy_with_gradient_operator(const at::Tensor& logits, const at::Tensor& targets,
                                                const at::Tensor& scale, double smoothing) {
  return cross_entropy_sum(logits, targets, smoothing, scale.const_data_ptr<float>());
}

}  // namespace
}  // namespace hftrain::cuda

TORCH_LIBRARY_IMPL(hftrain, CUDA, m) {
  using namespace hftrain::cuda;  // NOLINT(google-build-using-namespace)
  m.impl("rms_norm", rms_norm_operator);
  m.impl("rms_norm_backward", rms_norm_backward_operator);
  m.impl("gelu_tanh", gelu_tanh_operator);
  m.impl("gelu_tanh_backward", gelu_tanh_backward_operator);
  m.impl("swiglu", swiglu_operator);
  m.impl("swiglu_backward", swiglu_backward_operator);
  m.impl("rotate", rotate_operator);
  m.impl("cross_entropy", cross_entropy_operator);
  m.impl("cross_entropy_with_gradient_", cross_entropy_with_gradient_operator);
}
