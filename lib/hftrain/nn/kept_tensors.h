// Tensors that depend on a few numbers alone, kept for those who ask again.
#pragma once

#include <ATen/core/Tensor.h>

#include <list>
#include <mutex>
#include <numeric>
#include <utility>

namespace hftrain::nn {

// The tensors asked for last, by key and device: so many and so many bytes, but always one. Nobody may write to them. Any thread.
template <typename Key>
class KeptTensors {
 public:
  // `make` is called where there is none; it makes a tensor without gradients.
  template <typename Make>
  at::Tensor get(const Key& key, at::Device device, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->key != key || kept->device != device) continue;
      kept_.splice(kept_.begin(), kept_, kept);
      return kept_.front().tensor;
    }
    kept_.push_front({key, device, make()});
    while (kept_.size() > 1 && (kept_.size() > kMost || bytes() > kMostBytes)) kept_.pop_back();
    return kept_.front().tensor;
  }

 private:
  // A model has layers with a window and layers without one, or two stacks; evaluation has another length.
  static constexpr size_t kMost = 4;
  static constexpr size_t kMostBytes = size_t{256} << 20;

  struct Kept {
    Key key;
    at::Device device;
    at::Tensor tensor;
  };

  size_t bytes() const {
    return std::accumulate(kept_.begin(), kept_.end(), size_t{0},
                           [](size_t sum, const Kept& each) { return sum + each.tensor.nbytes(); });
  }

  std::mutex mutex_;
  std::list<Kept> kept_;  // the one used last comes first
};

}  // namespace hftrain::nn
