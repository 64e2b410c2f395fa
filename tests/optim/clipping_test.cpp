#include "hftrain/optim/clipping.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <optional>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/optim/gradient_norm.h"
#include "hftrain/optim/optimizer.h"
#include "support/catch.h"

namespace hftrain::optim {
namespace {

at::Tensor with_gradient(std::vector<float> values) {
  at::Tensor parameter = at::zeros({static_cast<int64_t>(values.size())}).requires_grad_(true);
  parameter.mutable_grad() = at::tensor(values);
  return parameter;
}

Clipping clipping(const std::vector<at::Tensor>& parameters, double max_norm,
                  const at::Tensor& loss_scale = {}) {
  return clipping_of(squared_gradient_norm(parameters, at::kCPU), max_norm, loss_scale);
}

// Of parameters at zero, after one step of stochastic gradient descent at rate 1 with clipped gradients.
void step_clipped(const std::vector<at::Tensor>& parameters, double max_norm, double norm) {
  const Clipping found = clipping(parameters, max_norm);
  CHECK(found.norm.item<float>() == static_cast<float>(norm));
  make_optimizer("sgd", {{parameters, 0.0}}, {})->step({1.0, std::nullopt, found.factor});
}

}  // namespace

TEST_CASE("The norm is taken over all gradients and gradients above it are scaled down") {
  const std::vector<at::Tensor> parameters{with_gradient({3, 0}), with_gradient({0, 4}),
                                           at::zeros({2}).requires_grad_(true)};
  step_clipped(parameters, 1.0, 5);
  CHECK(parameters[0][0].item<float>() == Approx(-3.0 / 5.0).epsilon(1e-5));
  CHECK(parameters[1][1].item<float>() == Approx(-4.0 / 5.0).epsilon(1e-5));
}

TEST_CASE("Gradients below the limit stay as they are") {
  const std::vector<at::Tensor> parameters{with_gradient({3, 4})};
  step_clipped(parameters, 10.0, 5);
  CHECK(parameters[0].detach().equal(at::tensor({-3.0f, -4.0f})));
}

TEST_CASE("Without any gradient the norm is zero") {
  const std::vector<at::Tensor> parameters{at::zeros({2}).requires_grad_(true)};
  step_clipped(parameters, 1.0, 0);
}

TEST_CASE("The norm of no gradients is made on the device that asks, for whose work nobody waits") {
  CHECK(squared_gradient_norm({}, at::kMeta).is_meta());
  const at::Tensor without = at::zeros({2}, at::kMeta).requires_grad_(true);
  CHECK(squared_gradient_norm({without}, at::kMeta).is_meta());
  CHECK(squared_gradient_norm({with_gradient({3, 4})}, at::kCPU).item<double>() == 25);
}

TEST_CASE("AdamW leaves parameters and state as they are where it is told by a tensor to skip") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kDouble);  // its own pass, and LibTorch's
  const at::Tensor parameter = at::ones({40}, dtype).requires_grad_(true);
  const auto optimizer = make_optimizer("adamw_torch_fused", {{{parameter}, 0.1}}, {});
  REQUIRE(optimizer->skips_by_tensor());
  const auto step = [&](double gradient, float skip) {
    parameter.mutable_grad() = at::full({40}, gradient, dtype);
    Pace pace(1e-2);
    pace.skip = at::full({}, skip);
    optimizer->step(pace);
  };
  step(1, 0);
  const at::Tensor before = parameter.detach().clone(), moment = optimizer->state(0, "exp_avg").clone();
  CHECK_FALSE(before.equal(at::ones({40}, dtype)));
  step(std::numeric_limits<double>::infinity(), 1);
  CHECK(parameter.detach().equal(before));
  CHECK(optimizer->state(0, "exp_avg").equal(moment));
  CHECK(optimizer->state(0, "step").item<float>() == 1);
  step(1, 0);
  CHECK(optimizer->state(0, "step").item<float>() == 2);
  CHECK_FALSE(parameter.detach().equal(before));
}

TEST_CASE("AdamW clips in its own pass as if the gradients had been multiplied before, to the bit") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kDouble);
  const at::Tensor values = at::randn({3, 1001}, at::detail::createCPUGenerator(7)).to(dtype);
  const auto trained = [&](bool in_its_pass) {
    const at::Tensor parameter = at::ones({3, 1001}, dtype).requires_grad_(true);
    const auto optimizer = make_optimizer("adamw_torch_fused", {{{parameter}, 0.1}}, {});
    for (int step = 1; step <= 3; ++step) {
      parameter.mutable_grad() = values * step;
      const at::Tensor factor = clipping({parameter}, 0.7).factor;
      if (!in_its_pass) parameter.mutable_grad().mul_(factor);
      optimizer->step({1e-2, std::nullopt, in_its_pass ? factor : at::Tensor()});
    }
    return parameter.detach();
  };
  CHECK(trained(true).equal(trained(false)));
}

TEST_CASE("The norm of bfloat16 gradients on a device is not rounded to bfloat16") {
  const std::vector<at::Tensor> gradients{at::full({1000}, 1.0, at::kBFloat16),
                                          at::full({24}, 3.0, at::kBFloat16)};
  CHECK(squared_norm_on_device(gradients).item<double>() == Approx(1216).epsilon(1e-6));
}

TEST_CASE("A NaN gradient makes what all are multiplied by NaN") {
  const std::vector<at::Tensor> parameters{with_gradient({std::numeric_limits<float>::quiet_NaN()}),
                                           with_gradient({1})};
  CHECK(clipping(parameters, 1.0).factor.isnan().item<bool>());
}

TEST_CASE(
    "What the loss was multiplied by is divided out of the norm and, with the clipping, out of what an "
    "update sees") {
  const std::vector<at::Tensor> parameters{with_gradient({3 * 1024, 0}), with_gradient({0, 4 * 1024})};
  const at::Tensor scale = at::full({}, 1024.0, at::kFloat);
  const Clipping free = clipping(parameters, 0, scale), clipped = clipping(parameters, 1, scale);
  CHECK(free.norm.item<float>() == 5);
  CHECK(free.factor.item<float>() == 1.0F / 1024);
  CHECK(clipped.norm.item<float>() == 5);
  CHECK(clipped.factor.item<float>() == Approx(1.0 / 1024 / 5));
  CHECK_FALSE(clipping(parameters, 0).factor.defined());
}

}  // namespace hftrain::optim
