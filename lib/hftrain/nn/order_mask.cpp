#include "hftrain/nn/order_mask.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include <list>
#include <mutex>
#include <numeric>
#include <utility>

namespace hftrain::nn {
namespace {

// A model has layers with a window and layers without one, evaluation another length.
constexpr size_t kMasksKept = 4;
constexpr size_t kBytesKept = size_t{256} << 20;  // but always one

at::Tensor make_mask(const Order& order, at::Device device) {
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions().device(device).dtype(at::kLong);
  const at::Tensor query = at::arange(order.past, order.past + order.queries, options);
  const at::Tensor distance = query.unsqueeze(1) - at::arange(order.keys, options).unsqueeze(0);
  const at::Tensor behind = distance >= 0;
  return order.window ? behind.logical_and(distance < *order.window) : behind;
}

struct KeptMask {
  Order order;
  at::Device device;
  at::Tensor mask;
};

class KeptMasks {
 public:
  at::Tensor get(const Order& order, at::Device device) {
    const std::lock_guard lock(mutex_);
    for (auto kept = masks_.begin(); kept != masks_.end(); ++kept) {
      if (kept->order != order || kept->device != device) continue;
      masks_.splice(masks_.begin(), masks_, kept);
      return masks_.front().mask;
    }
    masks_.push_front({order, device, make_mask(order, device)});
    while (masks_.size() > 1 && (masks_.size() > kMasksKept || bytes() > kBytesKept)) masks_.pop_back();
    return masks_.front().mask;
  }

 private:
  size_t bytes() const {
    return std::accumulate(masks_.begin(), masks_.end(), size_t{0},
                           [](size_t sum, const KeptMask& each) { return sum + each.mask.nbytes(); });
  }

  std::mutex mutex_;
  std::list<KeptMask> masks_;  // the one used last comes first
};

}  // namespace

at::Tensor order_mask(const Order& order, at::Device device) {
  // A text that is being written asks for another row at each step, and never again for that.
  if (order.past > 0) return make_mask(order, device);
  static KeptMasks* const masks = new KeptMasks;  // outlives whatever is destroyed at exit
  return masks->get(order, device);
}

}  // namespace hftrain::nn
