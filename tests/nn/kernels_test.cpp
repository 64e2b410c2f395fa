// Every fused operator on the CPU, for every dtype, generated over the table of operators and dtypes.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>

#include <set>
#include <string_view>

#include "operator_cases.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

using cases::operator_cases;
using cases::OperatorCase;
using cases::Tensors;

constexpr double kStep = 1e-5;  // of the central differences

// Of Σ output·weights with respect to each element of input `which`.
at::Tensor differences(const OperatorCase& each, const Tensors& values, size_t which,
                       const at::Tensor& weights, Kernels kernels) {
  const at::NoGradGuard no_gradient;
  at::Tensor result = at::zeros_like(values[which]);
  const auto value_at = [&](int64_t element, double step) {
    Tensors moved;
    for (const at::Tensor& value : values) moved.push_back(value.clone());
    moved[which].view(-1)[element].add_(step);
    return (each.apply(moved, kernels) * weights).sum().item<double>();
  };
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.view(-1)[i] = (value_at(i, kStep) - value_at(i, -kStep)) / (2 * kStep);
  }
  return result;
}

int own_kernel_calls = 0;

std::unique_ptr<at::ObserverContext> count_own_kernels(const at::RecordFunction& called) {
  if (std::string_view(called.name()).starts_with("hftrain::")) ++own_kernel_calls;
  return nullptr;
}

// How many of our kernels the form calls in one forward and one backward.
int own_kernels_in(const OperatorCase& each, Kernels kernels) {
  Tensors leaves;
  for (const at::Tensor& value : each.inputs(3, 8))
    leaves.push_back(value.to(at::kFloat).requires_grad_(true));
  own_kernel_calls = 0;
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback(count_own_kernels).scopes({at::RecordScope::FUNCTION}));
  each.apply(leaves, kernels).sum().backward();
  at::removeCallback(handle);
  return own_kernel_calls;
}

}  // namespace

TEST_CASE("The forms of every operator agree with the composition in float64, on the CPU in every dtype") {
  const OperatorCase& each = GENERATE(from_range(operator_cases()));
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf, at::kDouble);
  INFO(each.name << " in " << dtype);
  cases::check_operator(each, at::kCPU, dtype);
}

TEST_CASE("A form that is composed calls no kernel of ours, and a fused one its own") {
  const OperatorCase& each = GENERATE(from_range(operator_cases()));
  INFO(each.name);
  CHECK(own_kernels_in(each, Kernels::kComposed) == 0);
  CHECK(own_kernels_in(each, Kernels::kReference) == 0);
  // A loss by probability has no kernel of its own: its gradient holds the probability constant.
  CHECK((own_kernels_in(each, Kernels::kFused) > 0) == (each.kernel.has_value() && !each.holds_constant));
}

TEST_CASE("The gradients of every operator are those of finite differences, in all forms") {
  const OperatorCase& each = GENERATE(from_range(operator_cases()));
  const Kernels kernels = GENERATE(Kernels::kReference, Kernels::kFused, Kernels::kComposed);
  INFO(each.name);
  const Tensors values = each.inputs(3, 4);
  Tensors leaves;
  for (const at::Tensor& value : values) leaves.push_back(value.clone().requires_grad_(true));
  const at::Tensor output = each.apply(leaves, kernels);
  const at::Tensor weights = at::linspace(-1, 2, std::max<int64_t>(2, output.numel()), at::kDouble)
                                 .narrow(0, 0, output.numel())
                                 .reshape(output.sizes());
  output.backward(weights);
  for (size_t i = 0; i < leaves.size(); ++i) {
    INFO("input " << i);
    const at::Tensor expected = differences(each, values, i, weights, kernels);
    CHECK(leaves[i].grad().allclose(expected, 1e-6, 1e-7) != each.holds_constant);
  }
}

TEST_CASE("A row of the kernel table for the CPU is a registered kernel, and no operator is without a row") {
  std::set<std::string> seen, tested;  // by their names
  for (const ops::KernelRow& row : ops::kernel_table()) {
    INFO(ops::schema_names(row.op).front());
    CHECK_FALSE(row.dtypes.empty());
    if (row.device != c10::DeviceType::CPU) continue;
    CHECK(seen.insert(ops::schema_names(row.op).front()).second);
    CHECK(ops::is_registered(row.op, row.device));
    CHECK(ops::has_kernel(row.op, row.device, row.dtypes.front()));
    CHECK_FALSE(ops::has_kernel(row.op, row.device, at::kDouble));
  }
  for (const OperatorCase& each : operator_cases()) {
    if (each.kernel) tested.insert(ops::schema_names(*each.kernel).front());
  }
  CHECK(seen.size() == 6);
  CHECK(tested == seen);  // a kernel that no case tests is found here
}

TEST_CASE(
    "Without the plug-in no operator has a kernel for CUDA, and none for devices nobody wrote any for") {
  for (const ops::KernelRow& row : ops::kernel_table()) {
    CHECK_FALSE(ops::is_registered(row.op, c10::DeviceType::CUDA));
    CHECK_FALSE(ops::has_kernel(row.op, c10::DeviceType::CUDA, at::kFloat));
    CHECK_FALSE(ops::is_registered(row.op, c10::DeviceType::XPU));
  }
}

TEST_CASE("Tensors of two dtypes, or an empty one, are not for a kernel") {
  const at::Tensor x = at::ones({3, 4});
  const auto op = ops::Operator::kRmsNorm;
  CHECK(ops::has_kernel(op, x, x[0]));
  CHECK_FALSE(ops::has_kernel(op, x, x[0].to(at::kBFloat16)));
  CHECK_FALSE(ops::has_kernel(op, x.to(at::kBFloat16), x[0]));
  CHECK_FALSE(ops::has_kernel(op, x.narrow(0, 0, 0), x[0]));
  CHECK_FALSE(ops::has_kernel(op, x, x[0].narrow(0, 0, 0)));
}

}  // namespace hftrain::nn
