// The operators that may have a kernel of their own for a device.
//
// Each is declared once, in the schema of the library "hftrain" of LibTorch's dispatcher (ops.cpp). Kernels
// of the CPU are registered in cpu/, those of CUDA by the plug-in when it is loaded; kernel_table() says for
// which dtypes. Where there is none, and always with Kernels::kReference, the callers of this header (norm.h,
// activation.h, rotary.h, head_loss.h) compose ATen operators instead:
//
//   if (kernels == Kernels::kFused && ops::has_kernel(ops::Operator::kRmsNorm, x, weight))
//     return RmsNorm::apply(x.contiguous(), weight.contiguous(), eps);   // its autograd Function calls ops::
//
// What is called here goes to the kernel of the tensors' device, below autograd. Kernels take contiguous
// tensors that are not empty, of one device and, but where something else is said, of one dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace hftrain::nn::ops {

enum class Operator : uint8_t { kRmsNorm, kGelu, kGeluTanh, kSwiglu, kRotate, kCrossEntropy };

// A kernel for a kind of device: the dtypes that it takes.
struct KernelRow {
  Operator op;
  c10::DeviceType device;
  std::span<const at::ScalarType> dtypes;
};

// Every kernel that the sources have, whether this process has loaded it or not.
std::span<const KernelRow> kernel_table();

// The operator's names in the dispatcher, without "hftrain::": its forward, then what its backward needs.
const std::vector<std::string>& schema_names(Operator op);

// Whether kernels for all its names are registered for `device`: always for those of the CPU, for those of
// CUDA once a plug-in that has them is loaded.
bool is_registered(Operator op, c10::DeviceType device);

// Whether there is a kernel for this device and dtype, by the table, and it is registered.
bool has_kernel(Operator op, c10::DeviceType device, at::ScalarType dtype);

// The same for tensors: false where one is empty or on another device or of another dtype than the first.
template <typename... Tensors>
bool has_kernel(Operator op, const at::Tensor& first, const Tensors&... others) {
  [[maybe_unused]] const auto alike = [&](const at::Tensor& other) {
    return other.device() == first.device() && other.scalar_type() == first.scalar_type() &&
           other.numel() > 0;
  };
  return first.numel() > 0 && (alike(others) && ...) &&
         has_kernel(op, first.device().type(), first.scalar_type());
}

// x [.., C], weight [C] -> x·rstd·weight and rstd = 1/sqrt(mean x² + eps), float32 [rows].
std::tuple<at::Tensor, at::Tensor> rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
// -> gradients of x and of weight.
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& grad, const at::Tensor& x,
                                                     const at::Tensor& weight, const at::Tensor& rstd);

// x·Φ(x) with the normal distribution's Φ, any shape. On the CPU alone.
at::Tensor gelu(const at::Tensor& x);
at::Tensor gelu_backward(const at::Tensor& grad, const at::Tensor& x);

// x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³))), any shape.
at::Tensor gelu_tanh(const at::Tensor& x);
at::Tensor gelu_tanh_backward(const at::Tensor& grad, const at::Tensor& x);

// silu(gate)·up, any shape, the same for both.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);
// -> gradients of gate and of up.
std::tuple<at::Tensor, at::Tensor> swiglu_backward(const at::Tensor& grad, const at::Tensor& gate,
                                                   const at::Tensor& up);

// x [B, T, H, d]; cos and sin float32 [at least T, d/2]: the rotation of rotary.h. `inverse` turns back,
// which is also its backward.
at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool inverse);

// logits [N, V], targets int64 [N], each in 0 … V − 1 or kIgnoreIndex (loss.h). -> float64 scalar: the sum
// over counted rows of (1 − smoothing)·(−log p[target]) + smoothing·mean over V of (−log p), accumulated in
// float32 or wider. Rows of logits may stand apart from one another.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, double smoothing);
// The same, and the logits become scale·(gradient of that sum); `scale` is a float32 scalar of the device.
at::Tensor cross_entropy_with_gradient_(const at::Tensor& logits, const at::Tensor& targets,
                                        const at::Tensor& scale, double smoothing);

}  // namespace hftrain::nn::ops
