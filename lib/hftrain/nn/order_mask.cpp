#include "hftrain/nn/order_mask.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include "hftrain/nn/kept_tensors.h"

namespace hftrain::nn {
namespace {

at::Tensor make_mask(const Order& order, at::Device device) {
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions().device(device).dtype(at::kLong);
  const at::Tensor query = at::arange(order.past, order.past + order.queries, options);
  const at::Tensor distance = query.unsqueeze(1) - at::arange(order.keys, options).unsqueeze(0);
  const at::Tensor behind = distance >= 0;
  return order.window ? behind.logical_and(distance < *order.window) : behind;
}

}  // namespace

at::Tensor order_mask(const Order& order, at::Device device) {
  // A text that is being written asks for another row at each step, and never again for that.
  if (order.past > 0) return make_mask(order, device);
  static KeptTensors<Order>* const masks = new KeptTensors<Order>;  // outlives whatever is destroyed at exit
  return masks->get(order, device, [&] { return make_mask(order, device); });
}

}  // namespace hftrain::nn
