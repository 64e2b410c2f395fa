// Rotary positions as a device without kernels of ours turns them, on the CPU and, for what is called, on Meta.
#include "hftrain/nn/rotary.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/function.h>

#include <array>
#include <functional>
#include <string>

#include "hftrain/nn/activation_checkpoint.h"
#include "support/called_operators.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

constexpr int64_t kHeadWidth = 16, kTokens = 40;

at::Tensor rotary_noise(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::kDouble);
}

RotaryTables tables_to(const RotaryTables& tables, at::ScalarType dtype) {
  return {tables.cos.to(dtype), tables.sin.to(dtype)};
}

using Turn = std::function<at::Tensor(const at::Tensor& x)>;

struct Turned {
  at::Tensor output, gradient;
};

Turned with_gradient(const at::Tensor& x, const Turn& turn) {
  const at::Tensor leaf = x.detach().requires_grad_(true);
  const at::Tensor output = turn(leaf);
  output.backward(rotary_noise(output.sizes(), 5).to(output.scalar_type()));
  CHECK(leaf.grad().scalar_type() == x.scalar_type());
  return {output.detach(), leaf.grad()};
}

// Root of the mean square of what two have between them.
double mean_apart(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).square().mean().sqrt().item<double>();
}

}  // namespace

TEST_CASE("A device's rotation and its gradient are no farther from float64 than the reference") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const RotaryTables tables = make_rotary_tables({}, kHeadWidth, 2 * kTokens, at::kCPU);
  const RotaryTables wide = tables_to(tables, at::kDouble);
  const at::Tensor x = rotary_noise({3, kTokens, 5, kHeadWidth}, 1).to(dtype);
  // As a projection lies there, and as the gradient of attention does.
  for (const at::Tensor& each : {x, x.transpose(1, 2).contiguous().transpose(1, 2)}) {
    const auto by = [&](const RotaryTables& with, Kernels kernels) {
      return [&with, kernels](const at::Tensor& in) { return rotate(in, with, kernels); };
    };
    const Turned exact = with_gradient(each.to(at::kDouble), by(wide, Kernels::kReference));
    const Turned before = with_gradient(each, by(tables, Kernels::kReference));
    const Turned now =
        with_gradient(each, [&](const at::Tensor& in) { return rotate_on_device(in, tables); });
    INFO(c10::toString(dtype) << ": " << mean_apart(now.output, exact.output) << " and "
                              << mean_apart(now.gradient, exact.gradient) << ", reference "
                              << mean_apart(before.output, exact.output) << " and "
                              << mean_apart(before.gradient, exact.gradient));
    const double same = 1.02;  // an addition that is fused with its product, or is not
    CHECK(mean_apart(now.output, exact.output) <= same * mean_apart(before.output, exact.output));
    CHECK(mean_apart(now.gradient, exact.gradient) <= same * mean_apart(before.gradient, exact.gradient));
    CHECK(now.output.is_contiguous());
  }
}

TEST_CASE("A device's rotation in float64 is the reference, for rows of their own too, and of no tokens") {
  const RotaryTables tables =
      tables_to(make_rotary_tables({.attention_factor = 1.3}, kHeadWidth, kTokens, at::kCPU), at::kDouble);
  const at::Tensor places = at::randint(kTokens, {2, 7}, at::TensorOptions(at::kLong));
  const RotaryTables own = tables_at(tables, places);
  for (const int64_t batch : {2, 0}) {
    const at::Tensor x = rotary_noise({batch, 7, 3, kHeadWidth}, 2);
    const auto check = [](const Turned& a, const Turned& b) {
      CHECK(a.output.allclose(b.output, 0, 1e-14));
      CHECK(a.gradient.allclose(b.gradient, 0, 1e-14));
    };
    check(with_gradient(x, [&](const at::Tensor& in) { return rotate_on_device(in, tables); }),
          with_gradient(x, [&](const at::Tensor& in) { return rotate(in, tables, Kernels::kReference); }));
    if (batch == 0) continue;
    const at::Tensor flat = x.reshape({1, -1, 3, kHeadWidth});
    check(
        with_gradient(flat, [&](const at::Tensor& in) { return rotate_on_device(in, own); }),
        with_gradient(flat, [&](const at::Tensor& in) { return rotate_each(in, own, Kernels::kReference); }));
  }
}

TEST_CASE("A device's rotation is the same without gradients, and when it is computed again for them") {
  const RotaryTables tables = make_rotary_tables({}, kHeadWidth, kTokens, at::kCPU);
  const at::Tensor x = rotary_noise({2, kTokens, 3, kHeadWidth}, 3).to(at::kBFloat16), given = x.clone();
  const Turn turn = [&](const at::Tensor& in) { return rotate_on_device(in, tables); };
  const Turned once = with_gradient(x, turn);
  UnitRunner plain;
  CheckpointingRunner checkpointing(plain, 1);
  const Unit block{0, "block.0", {}, true, false};
  int calls = 0;
  const UnitFunction function = [&](at::TensorList, at::TensorList in) {
    ++calls;
    return std::vector<at::Tensor>{turn(in[0])};
  };
  const Turned again =
      with_gradient(x, [&](const at::Tensor& in) { return checkpointing.run(block, {}, {in}, function)[0]; });
  CHECK(calls == 2);
  CHECK(again.output.equal(once.output));
  CHECK(again.gradient.equal(once.gradient));
  const at::NoGradGuard no_grad;
  CHECK(turn(x).equal(once.output));
  CHECK(x.equal(given));
}

TEST_CASE("A device's rotation calls three kernels forward, three backward, and casts no table") {
  const RotaryTables tables = make_rotary_tables({}, kHeadWidth, kTokens, at::kMeta);
  const at::Tensor x =
      at::empty({2, kTokens, 3, kHeadWidth}, at::TensorOptions(at::kMeta).dtype(at::kBFloat16))
          .requires_grad_(true);
  const testing::CalledOperators called;
  const at::Tensor output = rotate(x, tables, Kernels::kComposed);
  output.backward(at::empty(output.sizes(), output.options()));
  CHECK(x.grad().scalar_type() == at::kBFloat16);
  CHECK(testing::CalledOperators::count("aten::mul") == 2);
  CHECK(testing::CalledOperators::count("aten::addcmul_") == 4);
  for (const char* name :
       {"aten::cat", "aten::stack", "aten::_to_copy", "aten::add", "aten::sub", "aten::neg"})
    CHECK(testing::CalledOperators::count(name) == 0);
}

}  // namespace hftrain::nn
