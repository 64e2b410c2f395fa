#include "hftrain/nn/device_attention.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>

#include "support/catch.h"

namespace hftrain::nn {
namespace {

// Heads of keys that a kernel gets for eight of queries.
int64_t heads_of(at::ScalarType dtype, bool masked) {
  const at::Tensor keys = at::empty({2, 4, 5, 16}, at::TensorOptions(at::kMeta).dtype(dtype));
  return heads_for_kernel(keys, 8, masked).size(1);
}

}  // namespace

TEST_CASE("keys are repeated on a device where no kernel knows groups of heads") {
  CHECK(heads_of(at::kFloat, false) == 8);
  CHECK(heads_of(at::kFloat, true) == 8);
  for (const at::ScalarType half : {at::kHalf, at::kBFloat16}) {
    CHECK(heads_of(half, false) == 4);
    CHECK(heads_of(half, true) == 8);
  }
  const at::Tensor here = at::rand({2, 4, 5, 16});
  CHECK(heads_for_kernel(here, 8, true).is_same(here));
}

TEST_CASE(
    "cuDNN's attention is not taken on a device beside dropout or a mask, or without order, where it is "
    "wrong") {
  const at::Tensor there = at::empty({2, 4, 5, 16}, at::TensorOptions(at::kMeta));
  CHECK(needs_other_kernels(there, 0.1, false, true));
  CHECK(needs_other_kernels(there, 0, true, true));
  CHECK(needs_other_kernels(there, 0, false, false));
  CHECK_FALSE(needs_other_kernels(there, 0, false, true));
  CHECK_FALSE(needs_other_kernels(at::rand({2, 4, 5, 16}), 0.1, true, false));
}

TEST_CASE("cuDNN's attention is left out for as long as somebody needs it so") {
  auto& context = at::globalContext();
  const bool before = context.userEnabledCuDNNSDP();
  context.setSDPUseCuDNN(true);
  {
    const WithoutCuDnn dropout(true);
    CHECK_FALSE(context.userEnabledCuDNNSDP());
    const WithoutCuDnn nothing(false);
    CHECK_FALSE(context.userEnabledCuDNNSDP());
  }
  CHECK(context.userEnabledCuDNNSDP());
  {
    const WithoutCuDnn nothing(false);
    CHECK(context.userEnabledCuDNNSDP());
  }
  CHECK(context.userEnabledCuDNNSDP());
  context.setSDPUseCuDNN(before);
}

}  // namespace hftrain::nn
