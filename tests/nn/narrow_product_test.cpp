// Products of few rows: right, the same for a row whatever stands beside it, and taken where that is said alone.
#include "hftrain/nn/cpu/narrow_product.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include "hftrain/nn/linear.h"
#include "hftrain/nn/product.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

at::Tensor random_matrix(int64_t rows, int64_t columns, bool by_columns, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  return by_columns ? at::randn({columns, rows}, generator).t() : at::randn({rows, columns}, generator);
}

double worst_difference(const at::Tensor& actual, const at::Tensor& expected) {
  return (actual.to(at::kDouble) - expected).abs().max().item<double>();
}

void check_narrow(int64_t rows, int64_t inner, int64_t columns, bool by_columns) {
  INFO(rows << " x " << inner << " x " << columns << (by_columns ? " by columns" : ""));
  const NarrowProducts narrow;
  const at::Tensor left = random_matrix(rows, inner, false, 1),
                   right = random_matrix(inner, columns, by_columns, 2);
  const at::Tensor bias = at::randn({columns}, at::detail::createCPUGenerator(3));
  const at::Tensor exact = left.to(at::kDouble).matmul(right.to(at::kDouble));
  REQUIRE(is_narrow(left, right));
  const double tolerance = 3e-6 * static_cast<double>(inner + 10);
  CHECK(worst_difference(multiply(left, right, bias, Products::kAten), exact + bias) < tolerance);
  at::Tensor frame = at::full({rows + 2, columns + 5}, 7.0f);
  at::Tensor out = frame.narrow(0, 1, rows).narrow(1, 2, columns);
  multiply_into(out, left, right, {}, Products::kAten);
  CHECK(worst_difference(out, exact) < tolerance);
  add_product(out, left, right, Products::kAten);
  CHECK(worst_difference(out, exact * 2) < 2 * tolerance);
  out.fill_(7.0f);
  CHECK(frame.eq(7.0f).all().item<bool>());
}

}  // namespace

TEST_CASE("narrow products are right to the edges and not beyond them") {
  if (!cpu::has_narrow_product()) HFTRAIN_SKIP("this processor has no AVX-512");
  for (const bool by_columns : {false, true}) {
    for (const int64_t rows : {1, 2, 3, 5, 7, 8, 9, 31, 32}) {
      check_narrow(rows, 1, 1, by_columns);
      check_narrow(rows, 17, 65, by_columns);
      check_narrow(rows, 129, 4200, by_columns);
    }
  }
}

TEST_CASE("a row of a narrow product does not depend on the others, nor on threads") {
  if (!cpu::has_narrow_product()) HFTRAIN_SKIP("this processor has no AVX-512");
  const NarrowProducts narrow;
  const int threads = at::get_num_threads();
  const at::Tensor left = random_matrix(32, 300, false, 1);
  for (const bool by_columns : {false, true}) {
    const at::Tensor right = random_matrix(300, 1000, by_columns, 2);
    const at::Tensor whole = multiply(left, right, {}, Products::kAten);
    for (const int64_t row : {0, 5, 31}) {
      const at::Tensor alone = multiply(left.narrow(0, row, 1), right, {}, Products::kAten);
      CHECK(alone.equal(whole.narrow(0, row, 1)));
      const at::Tensor few = multiply(left.narrow(0, row / 2, 5), right, {}, Products::kAten);
      CHECK(few.equal(whole.narrow(0, row / 2, 5)));
    }
    at::set_num_threads(1);
    CHECK(multiply(left, right, {}, Products::kAten).equal(whole));
    at::set_num_threads(threads);
  }
}

TEST_CASE("layers take narrow products where that is said, and only for few rows") {
  if (!cpu::has_narrow_product()) HFTRAIN_SKIP("this processor has no AVX-512");
  const at::Tensor weight = random_matrix(40, 24, false, 2), bias = random_matrix(1, 40, false, 3).view({40});
  const at::Tensor few = random_matrix(3, 24, false, 1), many = random_matrix(33, 24, false, 1);
  CHECK_FALSE(is_narrow(few, weight.t()));
  const at::Tensor expected = nn::linear(few, weight, bias), by_inputs = nn::conv1d(few, weight.t(), bias);
  const NarrowProducts narrow;
  CHECK_FALSE(is_narrow(many, weight.t()));
  CHECK_FALSE(is_narrow(few.to(at::kBFloat16), weight.t().to(at::kBFloat16)));
  CHECK_FALSE(is_narrow(random_matrix(3, 24, true, 1), weight.t()));
  CHECK(nn::linear(few, weight, bias).equal(multiply(few, weight.t(), bias, Products::kAten)));
  CHECK(worst_difference(nn::linear(few.view({1, 3, 24}), weight, bias), expected.view({1, 3, 40})) < 1e-5);
  CHECK(worst_difference(nn::conv1d(few, weight.t().contiguous(), bias), by_inputs) < 1e-5);
}

}  // namespace hftrain::nn
