#include "hftrain/nn/cast_together.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include <vector>

#include "support/called_operators.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

std::vector<at::Tensor> leaves() {
  at::manual_seed(9);
  std::vector<at::Tensor> all;
  for (const at::IntArrayRef shape : {at::IntArrayRef({3, 4}), at::IntArrayRef({5}), at::IntArrayRef({2, 2})})
    all.push_back(at::randn(shape).requires_grad_(true));
  all.push_back(at::randn({6}));                       // frozen
  all.push_back(at::randn({7}).to(at::kBFloat16));     // of the type already
  all.push_back(at::randn({3}).requires_grad_(true));  // used by nobody
  return all;
}

at::Tensor loss_of(const std::vector<at::Tensor>& cast) {
  return (cast[0] * cast[0]).sum() + cast[1].sum() * 3 + (cast[2] * 0.3).sum() + cast[3].sum() +
         cast[4].sum();
}

}  // namespace

TEST_CASE(
    "parameters that are cast together are those that are cast one by one, and so are their gradients") {
  const std::vector<at::Tensor> together = leaves(), apart = leaves();
  std::vector<at::Tensor> expected;
  for (const at::Tensor& each : apart) expected.push_back(each.to(at::kBFloat16));
  const std::vector<at::Tensor> cast = cast_together(together, at::kBFloat16);
  REQUIRE(cast.size() == expected.size());
  for (size_t i = 0; i < cast.size(); ++i) {
    INFO(i);
    CHECK(at::equal(cast[i], expected[i]));
    CHECK(cast[i].scalar_type() == at::kBFloat16);
    CHECK(cast[i].requires_grad() == expected[i].requires_grad());
  }
  loss_of(cast).backward();
  loss_of(expected).backward();
  for (size_t i = 0; i < 3; ++i) {
    INFO(i);
    CHECK(together[i].grad().scalar_type() == at::kFloat);
    CHECK(at::equal(together[i].grad(), apart[i].grad()));
  }
  CHECK_FALSE(together.back().grad().defined());
  CHECK(cast[4].is_same(together[4]));
}

TEST_CASE("a unit's parameters are cast by one operation, and its gradients by another") {
  at::manual_seed(9);
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < 12; ++i) parameters.push_back(at::randn({4}).requires_grad_(true));
  const testing::CalledOperators called;
  const std::vector<at::Tensor> cast = cast_together(parameters, at::kBFloat16);
  CHECK(testing::CalledOperators::count("aten::_foreach_copy_") == 1);
  at::Tensor sum = cast[0].sum();
  for (const at::Tensor& each : cast) sum = sum + each.sum();
  sum.backward();
  CHECK(testing::CalledOperators::count("aten::_foreach_copy_") == 2);
}

TEST_CASE("what is float32 for a pass in float32 stays itself") {
  const std::vector<at::Tensor> parameters = leaves(), cast = cast_together(parameters, at::kFloat);
  for (size_t i = 0; i < cast.size(); ++i) CHECK(cast[i].is_same(parameters[i]));
}

}  // namespace hftrain::nn
