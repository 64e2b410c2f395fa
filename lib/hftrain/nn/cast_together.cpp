#include "hftrain/nn/cast_together.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

std::vector<at::Tensor> copies_of(at::TensorList tensors, at::ScalarType dtype) {
  std::vector<at::Tensor> copies;
  copies.reserve(tensors.size());
  for (const at::Tensor& each : tensors) copies.push_back(at::empty_like(each, each.options().dtype(dtype)));
  if (!copies.empty()) at::_foreach_copy_(copies, tensors, /*non_blocking=*/true);
  return copies;
}

// Of float32 numbers that are cast at once: gradients of both types are there together for so many.
constexpr int64_t kTogether = int64_t{16} << 20;

struct CastTogether : Function<CastTogether> {
  static variable_list forward(AutogradContext* ctx, at::TensorList tensors, at::ScalarType dtype) {
    ctx->set_materialize_grads(false);
    return copies_of(tensors, dtype);
  }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    std::vector<at::Tensor> there;
    for (const at::Tensor& each : gradients) {
      if (each.defined()) there.push_back(each);
    }
    std::vector<at::Tensor> cast = copies_of(there, at::kFloat);
    size_t next = 0;
    for (at::Tensor& each : gradients) {
      if (each.defined()) each = std::move(cast[next++]);
    }
    gradients.emplace_back();  // of the type
    return gradients;
  }
};

}  // namespace

namespace {

// Of a plain vector autograd sees nothing: it gets lists.
std::vector<at::Tensor> cast_learning(const std::vector<at::Tensor>& tensors, at::ScalarType dtype) {
  std::vector<at::Tensor> cast, list;
  int64_t numbers = 0;
  const auto close = [&] {
    if (list.empty()) return;
    for (at::Tensor& each : CastTogether::apply(at::TensorList(list), dtype)) cast.push_back(std::move(each));
    list.clear();
    numbers = 0;
  };
  for (const at::Tensor& each : tensors) {
    if (numbers + each.numel() > kTogether) close();
    list.push_back(each);
    numbers += each.numel();
  }
  close();
  return cast;
}

}  // namespace

std::vector<at::Tensor> cast_together(at::TensorList tensors, at::ScalarType dtype) {
  std::vector<at::Tensor> result = tensors.vec(), learn, rest;
  if (dtype == at::kFloat) return result;
  for (const at::Tensor& each : tensors) {
    if (each.scalar_type() == at::kFloat) (each.requires_grad() ? learn : rest).push_back(each);
  }
  learn = cast_learning(learn, dtype);
  {
    const at::NoGradGuard no_grad;
    rest = copies_of(rest, dtype);
  }
  auto of_learning = learn.begin(), of_rest = rest.begin();
  for (at::Tensor& each : result) {
    if (each.scalar_type() == at::kFloat) each = each.requires_grad() ? *of_learning++ : *of_rest++;
  }
  return result;
}

}  // namespace hftrain::nn
