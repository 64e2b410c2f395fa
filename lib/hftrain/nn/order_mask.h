// Which keys a query may see by their order alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace hftrain::nn {

// Of `queries` places that follow `past` others, over `keys` places.
struct Order {
  int64_t queries = 0, keys = 0, past = 0;
  std::optional<int64_t> window;  // of the keys behind a query, its own counted, only that many; unset: all

  bool operator==(const Order&) const = default;
};

// [queries, keys] on `device`, true where the key may be seen: j <= past + i, within the window. The masks asked for last
// are kept, but for those with a past, so that the layers of a model and its steps share one; nobody may write to it. Any thread.
at::Tensor order_mask(const Order& order, at::Device device);

}  // namespace hftrain::nn
