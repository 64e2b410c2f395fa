#include "hftrain/nn/ops.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <array>

#include "hftrain/nn/cpu/operators.h"

// In this file, which every caller of an operator links: a static library drops a file that holds nothing but
// registrations.
TORCH_LIBRARY(hftrain, m) {
  m.def("rms_norm(Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)");
  m.def("rms_norm_backward(Tensor grad, Tensor x, Tensor weight, Tensor rstd) -> (Tensor, Tensor)");
  m.def("gelu(Tensor x) -> Tensor");
  m.def("gelu_backward(Tensor grad, Tensor x) -> Tensor");
  m.def("gelu_tanh(Tensor x) -> Tensor");
  m.def("gelu_tanh_backward(Tensor grad, Tensor x) -> Tensor");
  m.def("swiglu(Tensor gate, Tensor up) -> Tensor");
  m.def("swiglu_backward(Tensor grad, Tensor gate, Tensor up) -> (Tensor, Tensor)");
  m.def("rotate(Tensor x, Tensor cos, Tensor sin, bool inverse) -> Tensor");
  m.def("cross_entropy(Tensor logits, Tensor targets, float smoothing) -> Tensor");
  m.def(
      "cross_entropy_with_gradient_(Tensor(a!) logits, Tensor targets, Tensor scale, float smoothing) -> "
      "Tensor");
}

TORCH_LIBRARY_IMPL(hftrain, CPU, m) {
  hftrain::nn::cpu::register_operators(m);
}

namespace hftrain::nn::ops {
namespace {

constexpr std::array kFloatAndBFloat16{at::kFloat, at::kBFloat16};
constexpr std::array kFloatAndHalves{at::kFloat, at::kBFloat16, at::kHalf};

constexpr std::array<KernelRow, 11> kKernels{{
    {Operator::kRmsNorm, c10::DeviceType::CPU, kFloatAndBFloat16},
    {Operator::kGelu, c10::DeviceType::CPU, kFloatAndBFloat16},
    {Operator::kGeluTanh, c10::DeviceType::CPU, kFloatAndBFloat16},
    {Operator::kSwiglu, c10::DeviceType::CPU, kFloatAndBFloat16},
    {Operator::kRotate, c10::DeviceType::CPU, kFloatAndBFloat16},
    {Operator::kCrossEntropy, c10::DeviceType::CPU, kFloatAndBFloat16},
    {Operator::kRmsNorm, c10::DeviceType::CUDA, kFloatAndHalves},
    {Operator::kGeluTanh, c10::DeviceType::CUDA, kFloatAndHalves},
    {Operator::kSwiglu, c10::DeviceType::CUDA, kFloatAndHalves},
    {Operator::kRotate, c10::DeviceType::CUDA, kFloatAndHalves},
    {Operator::kCrossEntropy, c10::DeviceType::CUDA, kFloatAndHalves},
}};

// What the dispatcher has under a name, looked up once. A call goes below autograd: the Functions that call
// these operators record their own backward, and the dispatcher's fallback for operators without one would
// box every argument.
template <typename Signature>
class Handle {
 public:
  explicit Handle(const char* name)
      : handle_(c10::Dispatcher::singleton()
                    .findSchemaOrThrow((std::string("hftrain::") + name).c_str(), "")
                    .typed<Signature>()) {}

  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) const {
    const at::AutoDispatchBelowADInplaceOrView below;
    return handle_.call(std::forward<Arguments>(arguments)...);
  }

 private:
  c10::TypedOperatorHandle<Signature> handle_;
};

using Pair = std::tuple<at::Tensor, at::Tensor>;

}  // namespace

std::span<const KernelRow> kernel_table() {
  return kKernels;
}

const std::vector<std::string>& schema_names(Operator op) {
  static const std::array<std::vector<std::string>, 6> names{{
      {"rms_norm", "rms_norm_backward"},
      {"gelu", "gelu_backward"},
      {"gelu_tanh", "gelu_tanh_backward"},
      {"swiglu", "swiglu_backward"},
      {"rotate"},
      {"cross_entropy", "cross_entropy_with_gradient_"},
  }};
  return names.at(static_cast<size_t>(op));
}

bool is_registered(Operator op, c10::DeviceType device) {
  using Handles = std::vector<c10::OperatorHandle>;
  static const std::array<Handles, 6> handles = [] {
    std::array<Handles, 6> found;
    for (size_t i = 0; i < found.size(); ++i) {
      for (const std::string& name : schema_names(static_cast<Operator>(i))) {
        found[i].push_back(c10::Dispatcher::singleton().findSchemaOrThrow(("hftrain::" + name).c_str(), ""));
      }
    }
    return found;
  }();
  const c10::DispatchKey key =
      device == c10::DeviceType::CUDA ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  const Handles& all = handles.at(static_cast<size_t>(op));
  return (device == c10::DeviceType::CPU || device == c10::DeviceType::CUDA) &&
         std::all_of(all.begin(), all.end(),
                     [&](const auto& handle) { return handle.hasKernelForDispatchKey(key); });
}

bool has_kernel(Operator op, c10::DeviceType device, at::ScalarType dtype) {
  return std::any_of(kKernels.begin(), kKernels.end(), [&](const KernelRow& row) {
    return row.op == op && row.device == device &&
           std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end() &&
           is_registered(op, device);
  });
}

Pair rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  static const Handle<Pair(const at::Tensor&, const at::Tensor&, double)> call("rms_norm");
  return call(x, weight, eps);
}

Pair rms_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& rstd) {
  static const Handle<Pair(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&)> call(
      "rms_norm_backward");
  return call(grad, x, weight, rstd);
}

at::Tensor gelu(const at::Tensor& x) {
  static const Handle<at::Tensor(const at::Tensor&)> call("gelu");
  return call(x);
}

at::Tensor gelu_backward(const at::Tensor& grad, const at::Tensor& x) {
  static const Handle<at::Tensor(const at::Tensor&, const at::Tensor&)> call("gelu_backward");
  return call(grad, x);
}

at::Tensor gelu_tanh(const at::Tensor& x) {
  static const Handle<at::Tensor(const at::Tensor&)> call("gelu_tanh");
  return call(x);
}

at::Tensor gelu_tanh_backward(const at::Tensor& grad, const at::Tensor& x) {
  static const Handle<at::Tensor(const at::Tensor&, const at::Tensor&)> call("gelu_tanh_backward");
  return call(grad, x);
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  static const Handle<at::Tensor(const at::Tensor&, const at::Tensor&)> call("swiglu");
  return call(gate, up);
}

Pair swiglu_backward(const at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up) {
  static const Handle<Pair(const at::Tensor&, const at::Tensor&, const at::Tensor&)> call("swiglu_backward");
  return call(grad, gate, up);
}

at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool inverse) {
  static const Handle<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool)> call(
      "rotate");
  return call(x, cos, sin, inverse);
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, double smoothing) {
  static const Handle<at::Tensor(const at::Tensor&, const at::Tensor&, double)> call("cross_entropy");
  return call(logits, targets, smoothing);
}

at::Tensor cross_entropy_with_gradient_(const at::Tensor& logits, const at::Tensor& targets,
                                        const at::Tensor& scale, double smoothing) {
  static const Handle<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, double)> call(
      "cross_entropy_with_gradient_");
  return call(logits, targets, scale, smoothing);
}

}  // namespace hftrain::nn::ops
