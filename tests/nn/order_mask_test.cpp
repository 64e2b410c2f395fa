#include "hftrain/nn/order_mask.h"

#include <ATen/ops/equal.h>

#include "support/catch.h"

namespace hftrain::nn {
namespace {

bool one_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.const_data_ptr() == b.const_data_ptr();
}

void check_places(const Order& order) {
  const at::Tensor mask = order_mask(order, at::kCPU);
  REQUIRE(mask.sizes() == at::IntArrayRef({order.queries, order.keys}));
  for (int64_t i = 0; i < order.queries; ++i) {
    for (int64_t j = 0; j < order.keys; ++j) {
      const int64_t distance = order.past + i - j;
      CHECK(mask[i][j].item<bool>() == (distance >= 0 && (!order.window || distance < *order.window)));
    }
  }
}

}  // namespace

TEST_CASE("A query sees the keys behind it, within the window") {
  check_places({.queries = 5, .keys = 5});
  check_places({.queries = 5, .keys = 5, .window = 2});
  check_places({.queries = 2, .keys = 7, .past = 5, .window = 3});
}

TEST_CASE("Layers that ask for the same order get one mask, and one order does not get another's") {
  const Order windowed{.queries = 6, .keys = 6, .window = 3}, plain{.queries = 6, .keys = 6};
  const at::Tensor first = order_mask(windowed, at::kCPU), other = order_mask(plain, at::kCPU);
  CHECK(one_memory(first, order_mask(windowed, at::kCPU)));
  CHECK(one_memory(other, order_mask(plain, at::kCPU)));
  CHECK_FALSE(at::equal(first, other));
}

TEST_CASE("Masks of many lengths are not kept for ever") {
  const Order order{.queries = 9, .keys = 9, .window = 4};
  const at::Tensor before = order_mask(order, at::kCPU);
  for (int64_t length = 10; length < 20; ++length)
    order_mask({.queries = length, .keys = length, .window = 4}, at::kCPU);
  CHECK(before.use_count() == 1);
  CHECK(at::equal(before, order_mask(order, at::kCPU)));
}

}  // namespace hftrain::nn
