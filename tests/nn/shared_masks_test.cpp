#include "hftrain/nn/shared_masks.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/masked_bias.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

// Rows of 5 places: padding before, behind, and in none.
at::Tensor padding_of_three() {
  return at::tensor({0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1}, at::kLong).view({3, 5});
}

}  // namespace

TEST_CASE("what is added to the scores hides what the order and the padding hide") {
  SharedMasks masks;
  const Order order{.queries = 5, .keys = 5, .window = 2};
  const at::Tensor padding = padding_of_three();
  const at::Tensor both = masks.get(padding, order, at::kFloat, at::kCPU);
  REQUIRE(both.sizes() == at::IntArrayRef({3, 1, 5, 5}));
  const at::Tensor seen =
      padding.to(at::kBool).unsqueeze(1).unsqueeze(1).logical_and(order_mask(order, at::kCPU));
  CHECK(at::equal(both == 0, seen));
  CHECK(at::equal(both.isinf(), seen.logical_not()));
  CHECK(masks.get({}, order, at::kBFloat16, at::kCPU).sizes() == at::IntArrayRef({5, 5}));
  CHECK(masks.get(padding, {}, at::kFloat, at::kCPU).sizes() == at::IntArrayRef({3, 1, 1, 5}));
}

TEST_CASE("layers of one order share a mask whose rows begin where kernels want them") {
  SharedMasks masks;
  const Order windowed{.queries = 5, .keys = 5, .window = 2}, plain{.queries = 5, .keys = 5};
  const at::Tensor first = masks.get({}, windowed, at::kHalf, at::kCPU);
  CHECK(first.is_same(masks.get({}, windowed, at::kHalf, at::kCPU)));
  CHECK_FALSE(at::equal(first, masks.get({}, plain, at::kHalf, at::kCPU)));
  CHECK(masks.get({}, windowed, at::kFloat, at::kCPU).scalar_type() == at::kFloat);
  CHECK(first.stride(0) % 8 == 0);
  CHECK(first.stride(1) == 1);
}

TEST_CASE(
    "attention over a shared mask is attention over one of its own, queries that see nothing included") {
  const at::Tensor query = at::rand({3, 5, 4, 8}), key = at::rand({3, 5, 2, 8}),
                   value = at::rand({3, 5, 2, 8});
  for (const std::optional<int64_t> window : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    for (const at::Tensor& padding : {at::Tensor(), padding_of_three()}) {
      AttentionMask mask{.causal = true, .padding = padding};
      const AttentionOptions options{.scale = 0.3, .window = window};
      const at::Tensor own = attention(query, key, value, mask, options);
      mask.shared = std::make_shared<SharedMasks>();
      CHECK(at::allclose(attention(query, key, value, mask, options), own));
      CHECK(at::allclose(attention(query, key, value, mask, options), own));
    }
  }
}

TEST_CASE("a bias with the mask in it attends, and learns, as the bias beside the mask") {
  const auto leaf = [](at::IntArrayRef sizes) { return at::rand(sizes).requires_grad_(true); };
  const at::Tensor query = leaf({3, 5, 4, 8}), key = leaf({3, 5, 4, 8}), value = leaf({3, 5, 4, 8});
  const at::Tensor bias = at::rand({5, 5, 4}).permute({2, 0, 1}).unsqueeze(0).detach().requires_grad_(true);
  const std::vector<at::Tensor> leaves = {query, key, value, bias};
  const at::Tensor weights = at::rand({3, 5, 32});
  const auto learnt = [&](const AttentionMask& mask) {
    const at::Tensor out = attention(query, key, value, mask, {.scale = 0.3});
    std::vector<at::Tensor> all = torch::autograd::grad({(out * weights).sum()}, leaves);
    all.push_back(out.detach());
    return all;
  };
  for (const bool causal : {false, true}) {
    for (const at::Tensor& padding : {at::Tensor(), padding_of_three()}) {
      const at::Tensor masked = masked_bias(bias, padding, causal, at::kFloat);
      CHECK(masked.stride(-1) == 1);
      for (int64_t i = 0; i < 3; ++i) CHECK((masked.size(i) == 1 || masked.stride(i) % 8 == 0));
      const auto beside = learnt({.causal = causal, .padding = padding, .bias = bias, .bias_learns = true});
      const auto within = learnt({.bias = masked, .bias_learns = true});
      for (size_t i = 0; i < beside.size(); ++i) CHECK(at::allclose(within[i], beside[i], 1e-5, 1e-6));
    }
  }
}

}  // namespace hftrain::nn
