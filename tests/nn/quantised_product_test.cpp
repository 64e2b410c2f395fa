// Products with copies of matrices in 8 bits: near the true ones to the edges, and taken for the matrices of a model alone.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "hftrain/nn/product.h"
#include "hftrain/nn/quantised_matrices.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

const char* const kMissing = "this processor has no AVX-512-VNNI";

// A parameter, and the matrix of a product that it is: as it lies, or its transpose.
struct Given {
  at::Tensor parameter, matrix;
};

Given given(int64_t inner, int64_t columns, bool by_columns, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  if (!by_columns) {
    const at::Tensor parameter = at::randn({inner, columns}, generator);
    return {parameter, parameter};
  }
  const at::Tensor parameter = at::randn({columns, inner}, generator);
  return {parameter, parameter.t()};
}

at::Tensor row_of(int64_t inner) {
  return at::randn({1, inner}, at::detail::createCPUGenerator(1));
}

// Of a sum of `inner` products of numbers of deviation 1, each weight off by at most half of 1/127 of the largest, some 4.
double tolerance(int64_t inner) {
  return 0.06 * std::sqrt(static_cast<double>(inner)) + 1e-3;
}

void check_near(int64_t inner, int64_t columns, bool by_columns) {
  INFO(inner << " x " << columns << (by_columns ? " by columns" : ""));
  const auto [parameter, matrix] = given(inner, columns, by_columns, 2);
  QuantisedMatrices matrices(std::span(&parameter, 1));
  const at::Tensor row = row_of(inner), bias = at::randn({columns}, at::detail::createCPUGenerator(3));
  const at::Tensor exact = row.to(at::kDouble).matmul(matrix.to(at::kDouble));
  const auto off = [&](const at::Tensor& actual, const at::Tensor& expected) {
    return (actual.to(at::kDouble) - expected).abs().max().item<double>();
  };
  at::Tensor frame = at::full({3, columns + 5}, 7.0f);
  at::Tensor out = frame.narrow(0, 1, 1).narrow(1, 2, columns);
  REQUIRE(matrices.multiply(out, row, matrix, bias.const_data_ptr<float>(), false));
  CHECK(off(out, exact + bias) < tolerance(inner));
  CHECK(off(out, exact + bias) > 0);
  REQUIRE(matrices.multiply(out, row, matrix, nullptr, true));
  CHECK(off(out, exact * 2 + bias) < 2 * tolerance(inner));
  out.fill_(7.0f);
  CHECK(frame.eq(7.0f).all().item<bool>());
}

}  // namespace

TEST_CASE("products with copies in 8 bits are near the true ones to the edges") {
  if (!QuantisedMatrices::available()) HFTRAIN_SKIP(kMissing);
  for (const bool by_columns : {false, true}) {
    for (const auto& [inner, columns] :
         {std::pair{1, 1100}, {17, 65}, {130, 63}, {129, 4200}, {768, 128}, {771, 2305}, {3072, 1}})
      check_near(inner, columns, by_columns);
  }
}

TEST_CASE("a product with a copy does not depend on threads") {
  if (!QuantisedMatrices::available()) HFTRAIN_SKIP(kMissing);
  const int threads = at::get_num_threads();
  const auto [parameter, matrix] = given(700, 3000, true, 2);
  QuantisedMatrices several(std::span(&parameter, 1)), one(std::span(&parameter, 1));
  at::Tensor by_several = at::zeros({1, 3000}), by_one = at::zeros({1, 3000});
  at::set_num_threads(2);
  several.multiply(by_several, row_of(700), matrix, nullptr, false);
  at::set_num_threads(1);
  one.multiply(by_one, row_of(700), matrix, nullptr, false);
  at::set_num_threads(threads);
  CHECK(by_several.equal(by_one));
}

TEST_CASE("single rows take the copies while that is said, of the model's matrices alone") {
  if (!QuantisedMatrices::available()) HFTRAIN_SKIP(kMissing);
  const auto [parameter, matrix] = given(128, 256, true, 2);
  const auto [other, of_other] = given(128, 256, true, 4);
  QuantisedMatrices matrices(std::span(&parameter, 1));
  const at::Tensor row = row_of(128), two = at::randn({2, 128});
  const NarrowProducts narrow;
  const auto product = [](const at::Tensor& left, const at::Tensor& right) {
    return multiply(left, right, {}, Products::kQuickest);
  };
  const at::Tensor exact = product(row, matrix), of_two = product(two, matrix),
                   apart = product(row, of_other);
  const at::Tensor part = matrix.narrow(1, 64, 100), of_part = product(row, part);
  {
    const QuantisedProducts quantised(matrices);
    CHECK_FALSE(product(row, matrix).equal(exact));
    CHECK_FALSE(product(row, part).equal(of_part));
    CHECK((product(row, part) - of_part).abs().max().item<double>() < tolerance(128));
    CHECK(product(two, matrix).equal(of_two));
    CHECK(product(row, of_other).equal(apart));
  }
  CHECK(product(row, matrix).equal(exact));
}

TEST_CASE("numbers that are none make a bad product and nothing worse") {
  if (!QuantisedMatrices::available()) HFTRAIN_SKIP(kMissing);
  for (const float number :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto [parameter, matrix] = given(64, 70, false, 2);
    const at::Tensor exact = row_of(64).matmul(matrix);
    parameter[3][5] = number;
    QuantisedMatrices matrices(std::span(&parameter, 1));
    at::Tensor out = at::zeros({1, 70}), row = row_of(64);
    REQUIRE(matrices.multiply(out, row, matrix, nullptr, false));
    CHECK((out[0][6] - exact[0][6]).abs().item<double>() < tolerance(64));
    row[0][7] = number;
    CHECK(matrices.multiply(out, row, matrix, nullptr, false));
  }
}

}  // namespace hftrain::nn
