#include "hftrain/nn/activation_checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>

#include <algorithm>

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

  UnitFunction function() {
    return [this](at::TensorList p, at::TensorList in) {
      ++calls;
      return std::vector<at::Tensor>{at::dropout(at::tanh(in[0].matmul(p[0])), dropout, dropout > 0)};
    };
  }

  at::Tensor forward(UnitRunner& runner, const at::Tensor& input) {
    at::Tensor x = input;
    for (size_t i = 0; i < units.size(); ++i) x = runner.run(units[i], weights[i], {x}, function())[0];
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

TEST_CASE("Inputs that wait in host memory give the same gradients, and are copies") {
  Stack stack(0.3);
  at::Tensor input = at::randn({4, 6}, at::detail::createCPUGenerator(9));
  UnitRunner plain;
  CheckpointingRunner offloading(plain, 1, /*offload=*/true);
  seed(1);
  const auto expected = stack.gradients(plain, input);
  seed(1);
  check_equal(expected, stack.gradients(offloading, input));
  CHECK(stack.calls == 8);
  // What becomes of the input between forward and backward changes nothing then, and everything without the copy.
  CheckpointingRunner keeping(plain, 1);
  for (UnitRunner* runner : {static_cast<UnitRunner*>(&offloading), static_cast<UnitRunner*>(&keeping)}) {
    const auto gradient = [&](bool spoiled) {
      at::Tensor leaf = input.clone().requires_grad_(true);
      seed(1);
      const at::Tensor output = runner->run(stack.units[1], stack.weights[1], {leaf}, stack.function())[0];
      if (spoiled) std::fill_n(static_cast<float*>(leaf.mutable_data_ptr()), leaf.numel(), 0.0F);
      stack.weights[1].mutable_grad().reset();
      output.sum().backward();
      return stack.weights[1].grad();
    };
    CHECK(gradient(true).equal(gradient(false)) == (runner == &offloading));
  }
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
    std::vector<at::Tensor> run(const Unit& unit, at::TensorList parameters, at::TensorList inputs,
                                const UnitFunction& function) override {
      ++gathered;
      std::vector<at::Tensor> copies;
      for (const at::Tensor& parameter : parameters) copies.push_back(parameter * 1.0);
      return UnitRunner::run(unit, copies, inputs, function);
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

namespace {

// Two blocks make states; two more take them beside an input of their own and a mask that need
// not be there, and give a second output that only the last unit uses.
struct EncoderDecoder {
  std::vector<Unit> units;
  std::vector<at::Tensor> weights;
  double dropout;
  at::Tensor mask;  // undefined: none

  EncoderDecoder(double p, const at::Tensor& kept) : dropout(p), mask(kept) {
    for (int i = 0; i < 4; ++i) {
      units.push_back({i, "block." + std::to_string(i), {i}, true, p > 0});
      weights.push_back(
          at::randn({6, 6}, at::detail::createCPUGenerator(static_cast<uint64_t>(i))).requires_grad_(true));
    }
  }

  std::vector<at::Tensor> gradients(UnitRunner& runner, const at::Tensor& input) {
    using Tensors = std::vector<at::Tensor>;
    for (at::Tensor& weight : weights) weight.mutable_grad().reset();
    const at::Tensor leaf = input.clone().requires_grad_(true);
    const auto encode = [p = dropout](at::TensorList w, at::TensorList in) {
      return Tensors{at::dropout(at::tanh(in[0].matmul(w[0])), p, p > 0)};
    };
    const auto decode = [p = dropout](at::TensorList w, at::TensorList in) {
      const at::Tensor kept = in[2].defined() ? in[1] * in[2] : in[1];
      const at::Tensor mixed = at::dropout(at::tanh(in[0].matmul(w[0]) + kept), p, p > 0);
      return Tensors{mixed, at::Tensor(), mixed * mixed};
    };
    const at::Tensor states =
        runner.run(units[1], weights[1], runner.run(units[0], weights[0], {leaf}, encode), encode)[0];
    const Tensors first = runner.run(units[2], weights[2], {leaf * 2, states, mask}, decode);
    const Tensors last = runner.run(units[3], weights[3], {first[0], states, mask}, decode);
    CHECK_FALSE(last[1].defined());
    (last[0] + last[2] + states).sum().backward();
    Tensors result{leaf.grad()};
    for (const at::Tensor& weight : weights) result.push_back(weight.grad());
    return result;
  }
};

}  // namespace

TEST_CASE("States that many blocks take get their whole gradient when all blocks are recomputed") {
  const double p = GENERATE(0.0, 0.3);
  const at::Tensor mask =
      GENERATE(at::Tensor(), at::randn({4, 6}, at::detail::createCPUGenerator(5)).gt(0).to(at::kFloat));
  EncoderDecoder net(p, mask);
  const at::Tensor input = at::randn({4, 6}, at::detail::createCPUGenerator(9));
  UnitRunner plain;
  CheckpointingRunner every(plain, 1), every_second(plain, 2);
  seed(1);
  const auto expected = net.gradients(plain, input);
  for (const at::Tensor& gradient : expected) CHECK(gradient.abs().max().item<double>() > 0);
  seed(1);
  check_equal(expected, net.gradients(every, input));
  seed(1);
  check_equal(expected, net.gradients(every_second, input));
}

}  // namespace hftrain::nn
