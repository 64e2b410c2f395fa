// Products of our own against LibTorch's: every way to lie in memory, sizes around the tiles, bias, addition, threads.
#include "hftrain/nn/product.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <array>
#include <functional>
#include <vector>

#include "hftrain/nn/cpu/bgemm.h"
#include "hftrain/nn/cpu/sgemm.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/parameter.h"
#include "hftrain/nn/widened.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

at::Tensor drawn(int64_t rows, int64_t columns, bool across, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  return across ? at::randn({columns, rows}, generator).t() : at::randn({rows, columns}, generator);
}

cpu::MatrixView view_of(const at::Tensor& matrix) {
  return {matrix.const_data_ptr<float>(), matrix.stride(0), matrix.stride(1)};
}

double worst_of(const at::Tensor& actual, const at::Tensor& expected) {
  return (actual.to(at::kDouble) - expected).abs().max().item<double>();
}

// In a frame of numbers that nobody may touch.
void check_product(const cpu::ProductSize& size, bool left_across, bool right_across) {
  INFO(size.rows << " x " << size.inner << " x " << size.columns << ", across " << left_across
                 << right_across);
  const at::Tensor left = drawn(size.rows, size.inner, left_across, 1);
  const at::Tensor right = drawn(size.inner, size.columns, right_across, 2);
  const at::Tensor bias = at::randn({size.columns}, at::detail::createCPUGenerator(3));
  const at::Tensor exact = left.to(at::kDouble).matmul(right.to(at::kDouble));
  at::Tensor frame = at::full({size.rows + 2, size.columns + 5}, 7.0f);
  at::Tensor out = frame.narrow(0, 1, size.rows).narrow(1, 2, size.columns);
  const double tolerance = 3e-6 * static_cast<double>(size.inner + 10);
  cpu::sgemm(size, view_of(left), view_of(right), bias.const_data_ptr<float>(), false, out.data_ptr<float>(),
             out.stride(0));
  CHECK(worst_of(out, exact + bias) < tolerance);
  cpu::sgemm(size, view_of(left), view_of(right), nullptr, true, out.data_ptr<float>(), out.stride(0));
  CHECK(worst_of(out, exact * 2 + bias) < 2 * tolerance);
  cpu::sgemm(size, view_of(left), view_of(right), nullptr, false, out.data_ptr<float>(), out.stride(0));
  CHECK(worst_of(out, exact) < tolerance);
  out.fill_(7.0f);
  CHECK(frame.eq(7.0f).all().item<bool>());
}

}  // namespace

TEST_CASE("product: sgemm multiplies whatever way its matrices lie, to the edges and not beyond them") {
  if (!cpu::has_sgemm()) HFTRAIN_SKIP("this processor has no AVX-512");
  for (const bool left : {false, true}) {
    for (const bool right : {false, true}) {
      for (const cpu::ProductSize& size : {cpu::ProductSize{1, 1, 1},
                                           {12, 32, 16},
                                           {13, 33, 17},
                                           {11, 31, 15},
                                           {25, 70, 513},
                                           {193, 40, 520},
                                           {30, 2085, 19}}) {
        check_product(size, left, right);
      }
    }
  }
}

namespace {

at::Tensor rounded(const at::Tensor& x) {
  return x.to(at::kBFloat16);
}

cpu::AnyMatrix any_of(const at::Tensor& matrix) {
  return {matrix.const_data_ptr(), matrix.scalar_type() == at::kFloat, matrix.stride(0), matrix.stride(1)};
}

// left · right (+ bias [N]) into `out` or added to it, by one of the products.
using RoundedProduct = std::function<void(at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                                          const at::Tensor& bias, bool add)>;

RoundedProduct bgemm_with(cpu::BfloatUnit unit) {
  return [unit](at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                bool add) {
    const cpu::ProductSize size{left.size(0), right.size(1), left.size(1)};
    const cpu::AnyOutput target{out.mutable_data_ptr(), out.scalar_type() == at::kFloat, out.stride(0)};
    cpu::bgemm(size, any_of(left), any_of(right), bias.defined() ? bias.const_data_ptr<float>() : nullptr,
               add, target, unit);
  };
}

// In a frame of numbers that nobody may touch: of what both are as bfloat16.
void check_rounded_product(const cpu::ProductSize& size, const at::Tensor& left, const at::Tensor& right,
                           at::ScalarType dtype, const RoundedProduct& product) {
  INFO(size.rows << " x " << size.inner << " x " << size.columns << ", " << left.dtype() << left.strides()
                 << " x " << right.dtype() << right.strides() << " -> " << dtype);
  const at::Tensor bias = at::randn({size.columns}, at::detail::createCPUGenerator(3));
  const at::Tensor exact = rounded(left).to(at::kDouble).matmul(rounded(right).to(at::kDouble));
  at::Tensor frame = at::full({size.rows + 2, size.columns + 5}, 7.0f, dtype);
  at::Tensor out = frame.narrow(0, 1, size.rows).narrow(1, 2, size.columns);
  const at::Tensor largest = exact.abs().max() + 8;
  // The sum's own roundings, and in bfloat16 the one at its end.
  const double tolerance = largest.item<double>() *
                           (dtype == at::kFloat ? 1e-6 * static_cast<double>(size.inner + 10) : 1.0 / 256);
  product(out, left, right, bias, false);
  CHECK(worst_of(out, exact + bias) < tolerance);
  out.fill_(2.0f);
  product(out, left, right, {}, true);
  CHECK(worst_of(out, exact + 2.0) < tolerance);
  product(out, left, right, {}, false);
  CHECK(worst_of(out, exact) < tolerance);
  out.fill_(7.0f);
  CHECK(frame.eq(7.0f).all().item<bool>());
}

void check_rounded_products(const std::vector<cpu::ProductSize>& sizes, const RoundedProduct& product) {
  for (const cpu::ProductSize& size : sizes) {
    for (const bool left_across : {false, true}) {
      for (const bool right_across : {false, true}) {
        const at::Tensor left = drawn(size.rows, size.inner, left_across, 1);
        const at::Tensor right = drawn(size.inner, size.columns, right_across, 2);
        for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
          check_rounded_product(size, left, right, dtype, product);
          check_rounded_product(size, rounded(left), right, dtype, product);
          check_rounded_product(size, left, rounded(right), dtype, product);
          check_rounded_product(size, rounded(left), rounded(right), dtype, product);
        }
      }
    }
  }
}

// Around the tiles of bgemm.
const std::vector<cpu::ProductSize> kAroundTiles{{1, 1, 1},      {12, 32, 32},    {13, 33, 17},
                                                 {25, 70, 1027}, {193, 40, 1024}, {800, 37, 5},
                                                 {64, 96, 544},  {14, 1060, 31}};

}  // namespace

TEST_CASE("product: bgemm rounds float32 on its way and multiplies whatever way matrices lie") {
  if (!cpu::has_bgemm()) HFTRAIN_SKIP("this processor has no AVX512-BF16");
  check_rounded_products(kAroundTiles, bgemm_with(cpu::BfloatUnit::kVectors));
}

TEST_CASE("product: tiles round float32 on its way and multiply whatever way matrices lie") {
  if (!cpu::has_bgemm(cpu::BfloatUnit::kTiles))
    HFTRAIN_SKIP("this processor has no AMX, or its system keeps it");
  check_rounded_products(kAroundTiles, bgemm_with(cpu::BfloatUnit::kTiles));
}

TEST_CASE("product: what is widened is multiplied whatever way matrices lie, strip by strip") {
  check_rounded_products(kAroundTiles, widened_product);
  // A strip of 1,048,576 numbers at the most: three of them, by rows and by columns.
  check_rounded_products({{300, 40, 10000}, {40, 300, 10000}}, widened_product);
}

// Else `--bf16` takes ten times as long there as float32 does.
TEST_CASE(
    "product: every product of bfloat16 that is worth it is widened where LibTorch has only loops for it") {
  if (cpu::prefers_bgemm() || !widens_bfloat16()) HFTRAIN_SKIP("this processor multiplies bfloat16 quicker");
  CHECK(has_bfloat16_products());
  for (const auto& [rows, columns, inner] : {std::array{4, 48, 48}, {33, 20, 700}, {1, 512, 64}}) {
    const at::Tensor left = rounded(drawn(rows, inner, false, 1)), right = drawn(inner, columns, false, 2);
    for (const at::Tensor& matrix : {right, rounded(right)}) {
      INFO(rows << " x " << inner << " x " << columns << " of " << matrix.dtype());
      at::Tensor expected = at::empty({rows, columns}, at::kFloat);
      widened_product(expected, left, matrix, {}, false);
      CHECK(multiply(left, matrix, {}, Products::kAten, at::kFloat).equal(expected));
      CHECK(multiply(left, matrix, {}, Products::kQuickest).equal(rounded(expected)));
      at::Tensor sum = at::full({rows, columns}, 0.5f);
      add_product(sum, left, matrix, Products::kAten);
      CHECK(worst_of(sum, expected.to(at::kDouble) + 0.5) < 1e-4);
    }
  }
}

TEST_CASE("product: threads change no bit of a product that rounds to bfloat16") {
  if (!cpu::prefers_bgemm()) HFTRAIN_SKIP("products are LibTorch's on this processor");
  const at::Tensor left = rounded(drawn(500, 300, false, 1)), wide = drawn(300, 700, true, 2),
                   narrow = drawn(300, 90, false, 3);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = multiply(left, wide, {}, Products::kAten);
  const at::Tensor alone_narrow = multiply(left, narrow, {}, Products::kAten, at::kFloat);
  at::set_num_threads(3);
  CHECK(multiply(left, wide, {}, Products::kAten).equal(alone));
  CHECK(multiply(left, narrow, {}, Products::kAten, at::kFloat).equal(alone_narrow));
  at::set_num_threads(threads);
  CHECK(alone.scalar_type() == at::kBFloat16);
  CHECK(alone_narrow.scalar_type() == at::kFloat);
}

// On every processor: where no product rounds on its way the weights are cast before it.
TEST_CASE("product: layers in bfloat16 over float32 weights give what layers of rounded weights give") {
  struct Found {
    at::Tensor out;
    std::vector<at::Tensor> gradients;
  };
  const auto run = [](at::ScalarType stored) {
    const at::Generator generator = at::detail::createCPUGenerator(5);
    const auto weight = [&](int64_t out, int64_t in) {
      return rounded(at::randn({out, in}, generator) * 0.1).to(stored).requires_grad_(true);
    };
    const at::Tensor x = rounded(at::randn({4, 50, 96}, generator)).requires_grad_(true);
    const std::vector<at::Tensor> leaves{weight(160, 96), weight(96, 160), weight(96, 160), weight(160, 96),
                                         weight(160, 96)};
    const auto given = [&](size_t i) { return Parameter(leaves[i], at::kBFloat16); };
    const at::Tensor bias = rounded(at::randn({160}, generator));
    const at::Tensor inner = linear(x, given(0), bias).tanh();
    const at::Tensor back = linear_add(x, inner, given(1), {}, Kernels::kFused);
    const at::Tensor again = conv1d(back, given(2), bias).tanh();
    const auto twice = linear_many(conv1d_add(back, again, given(3), {}, Kernels::kFused),
                                   {given(0), given(4)}, {bias, bias}, Kernels::kFused);
    const at::Tensor out = twice[0] + twice[1].sin();
    out.backward(rounded(at::randn(out.sizes(), generator)));
    Found found{out.detach(), {x.grad()}};
    for (const at::Tensor& leaf : leaves) found.gradients.push_back(leaf.grad());
    return found;
  };
  const Found wide = run(at::kFloat), narrow = run(at::kBFloat16);
  CHECK(wide.out.equal(narrow.out));
  for (size_t i = 0; i < wide.gradients.size(); ++i) {
    INFO("gradient " << i);
    REQUIRE(wide.gradients[i].defined());
    if (i > 0) CHECK(wide.gradients[i].scalar_type() == at::kFloat);
    const double largest = narrow.gradients[i].abs().max().item<double>();
    CHECK(worst_of(wide.gradients[i], narrow.gradients[i].to(at::kDouble)) < largest / 100);
  }
}

TEST_CASE("product: no rows in bfloat16 over float32 weights are none behind them, with gradients of zeros") {
  const at::Generator generator = at::detail::createCPUGenerator(5);
  const at::Tensor weight = at::randn({7, 5}, generator).requires_grad_(true);
  const at::Tensor other = at::randn({7, 5}, generator).requires_grad_(true);
  const at::Tensor x = at::empty({0, 5}, at::kBFloat16).requires_grad_(true);
  const Parameter given(weight, at::kBFloat16), beside(other, at::kBFloat16);
  const auto many = linear_many(x, {given, beside}, {}, Kernels::kFused);
  const at::Tensor out = linear(x, given, {}) + many[0] + many[1];
  CHECK(out.sizes() == at::IntArrayRef({0, 7}));
  CHECK(out.scalar_type() == at::kBFloat16);
  out.sum().backward();
  for (const at::Tensor& leaf : {weight, other}) {
    REQUIRE(leaf.grad().defined());
    CHECK(leaf.grad().eq(0).all().item<bool>());
  }
}

TEST_CASE("product: threads change no bit of a product") {
  if (!cpu::prefers_sgemm()) HFTRAIN_SKIP("products are LibTorch's on this processor");
  const at::Tensor left = drawn(500, 300, false, 1), wide = drawn(300, 700, true, 2),
                   narrow = drawn(300, 90, false, 3);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = multiply(left, wide, {}, Products::kQuickest);
  const at::Tensor alone_narrow = multiply(left, narrow, {}, Products::kQuickest);
  at::set_num_threads(3);
  CHECK(multiply(left, wide, {}, Products::kQuickest).equal(alone));
  CHECK(multiply(left, narrow, {}, Products::kQuickest).equal(alone_narrow));
  at::set_num_threads(threads);
  CHECK_FALSE(alone.equal(multiply(left, wide, {}, Products::kAten)));  // it is ours that was compared
}

TEST_CASE("product: linear layers of both products agree, gradients too, and frozen weights get none") {
  const auto run = [](Products products, bool frozen) {
    const at::Generator generator = at::detail::createCPUGenerator(5);
    at::Tensor x = at::randn({4, 50, 96}, generator).requires_grad_(true);
    at::Tensor weight = (at::randn({160, 96}, generator) * 0.1).requires_grad_(!frozen);
    at::Tensor bias = at::randn({160}, generator).requires_grad_(true);
    at::Tensor back = (at::randn({96, 160}, generator) * 0.1).requires_grad_(true);
    const at::Tensor inner = linear(x, weight, bias, products).tanh();
    const auto twice = linear_many(linear_add(x, inner, back, {}, Kernels::kFused, products),
                                   {weight, weight}, {bias, bias}, Kernels::kFused, products);
    const at::Tensor out = twice[0] + twice[1].sin();
    out.backward(at::randn(out.sizes(), generator));
    return std::vector<at::Tensor>{out.detach(), x.grad(), weight.grad(), bias.grad(), back.grad()};
  };
  const auto mine = run(Products::kQuickest, false), theirs = run(Products::kAten, false);
  for (size_t i = 0; i < mine.size(); ++i) {
    INFO("tensor " << i);
    const double largest = theirs[i].abs().max().item<double>();
    CHECK(worst_of(mine[i], theirs[i].to(at::kDouble)) < 1e-5 * largest);
  }
  CHECK_FALSE(run(Products::kQuickest, true)[2].defined());
}

}  // namespace hftrain::nn
