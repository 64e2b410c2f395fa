#include "hftrain/nn/activation_checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>

#include "support/catch.h"

namespace hftrain::nn {
namespace {

// Three blocks tanh(x·W) with dropout, between a first and a last unit.
struct Stack {
  std::vector<Unit> units;
  std::vector<at::Tensor> weights;
  double dropout;
  int calls = 0;

  explicit Stack(double p) : dropout(p) {
    for (int i = 0; i < 5; ++i) {
      const bool repeated = i > 0 && i < 4;
      units.push_back({i, repeated ? "block." + std::to_string(i - 1) : "edge", {i}, repeated, p > 0});
      weights.push_back(
          at::randn({6, 6}, at::detail::createCPUGenerator(static_cast<uint64_t>(i))).requires_grad_(true));
    }
  }

  at::Tensor forward(UnitRunner& runner, const at::Tensor& input) {
    at::Tensor x = input;
    for (size_t i = 0; i < units.size(); ++i) {
      const UnitFunction function = [this](at::TensorList p, const at::Tensor& in) {
        ++calls;
        return at::dropout(at::tanh(in.matmul(p[0])), dropout, dropout > 0);
      };
      x = runner.run(units[i], weights[i], x, function);
    }
    return x;
  }

  std::vector<at::Tensor> gradients(UnitRunner& runner, const at::Tensor& input) {
    for (at::Tensor& weight : weights) weight.mutable_grad().reset();
    at::Tensor leaf = input.clone().requires_grad_(true);
    calls = 0;
    (forward(runner, leaf) * input).sum().backward();
    std::vector<at::Tensor> result{leaf.grad()};
    for (const at::Tensor& weight : weights) result.push_back(weight.grad());
    return result;
  }
};

void seed(uint64_t value) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(value);
}

void check_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i].equal(b[i]));
}

}  // namespace

TEST_CASE("Recomputed blocks give the same gradients bit for bit, with and without dropout") {
  const double p = GENERATE(0.0, 0.3);
  Stack stack(p);
  const at::Tensor input = at::randn({4, 6}, at::detail::createCPUGenerator(9));
  UnitRunner plain;
  CheckpointingRunner checkpointing(plain, 1);
  seed(1);
  const auto expected = stack.gradients(plain, input);
  CHECK(stack.calls == 5);
  seed(1);
  const auto found = stack.gradients(checkpointing, input);
  CHECK(stack.calls == 8);  // three blocks twice
  check_equal(expected, found);
}

TEST_CASE("The random stream goes on after the backward as if nothing had been recomputed") {
  Stack stack(0.3);
  const at::Tensor input = at::randn({4, 6}, at::detail::createCPUGenerator(9));
  UnitRunner plain;
  CheckpointingRunner checkpointing(plain, 1);
  seed(1);
  stack.gradients(plain, input);
  const at::Tensor expected = at::randn({3});
  seed(1);
  stack.gradients(checkpointing, input);
  CHECK(at::randn({3}).equal(expected));
}

TEST_CASE("Every n-th block is recomputed, counted from the first block") {
  Stack stack(0.0);
  const at::Tensor input = at::randn({4, 6}, at::detail::createCPUGenerator(9));
  UnitRunner plain;
  CheckpointingRunner every_second(plain, 2), only_first(plain, 5);
  stack.gradients(every_second, input);
  CHECK(stack.calls == 7);
  stack.gradients(only_first, input);
  CHECK(stack.calls == 6);
}

TEST_CASE("Nothing is recomputed or kept when gradients are off") {
  Stack stack(0.0);
  UnitRunner plain;
  CheckpointingRunner checkpointing(plain, 1);
  const at::NoGradGuard no_grad;
  const at::Tensor output = stack.forward(checkpointing, at::randn({4, 6}));
  CHECK(stack.calls == 5);
  CHECK_FALSE(output.requires_grad());
}

TEST_CASE("A wrapped runner hands its own tensors to the recomputation") {
  // Stands for a sharded strategy: gathers copies, and frees nothing.
  struct Gathering : UnitRunner {
    int gathered = 0;
    at::Tensor run(const Unit& unit, at::TensorList parameters, const at::Tensor& input,
                   const UnitFunction& function) override {
      ++gathered;
      std::vector<at::Tensor> copies;
      for (const at::Tensor& parameter : parameters) copies.push_back(parameter * 1.0);
      return UnitRunner::run(unit, copies, input, function);
    }
  };
  Stack stack(0.0);
  const at::Tensor input = at::randn({4, 6}, at::detail::createCPUGenerator(9));
  UnitRunner plain;
  Gathering gathering;
  CheckpointingRunner checkpointing(gathering, 1);
  const auto expected = stack.gradients(plain, input);
  check_equal(expected, stack.gradients(checkpointing, input));
  CHECK(gathering.gathered == 5);
}

}  // namespace hftrain::nn
