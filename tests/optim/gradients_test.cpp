#include "hftrain/optim/gradients.h"

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

// Of parameters at zero, after one step of stochastic gradient descent at rate 1 with clipped gradients.
void step_clipped(const std::vector<at::Tensor>& parameters, double max_norm, double norm) {
  const at::Tensor measured = gradient_norm(parameters);
  CHECK(measured.item<float>() == static_cast<float>(norm));
  make_optimizer("sgd", {{parameters, 0.0}}, {})->step({1.0, std::nullopt, clip_factor(measured, max_norm)});
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
  const at::Tensor values = at::randn({3, 1001}, at::detail::createCPUGenerator(7));
  const auto trained = [&](bool in_its_pass) {
    const at::Tensor parameter = at::ones({3, 1001}).requires_grad_(true);
    const auto optimizer = make_optimizer("adamw_torch_fused", {{{parameter}, 0.1}}, {});
    for (int step = 1; step <= 3; ++step) {
      parameter.mutable_grad() = values * step;
      const at::Tensor factor = clip_factor(gradient_norm({parameter}), 0.7);
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
  CHECK(clip_factor(gradient_norm(parameters), 1.0).isnan().item<bool>());
}

TEST_CASE("The scaler divides gradients and halves its scale after an overflow") {
  GradientScaler scaler;
  CHECK(scaler.scale() == 65536.0);
  const std::vector<at::Tensor> good{with_gradient({65536, 131072})};
  CHECK_FALSE(scaler.unscale(good));
  CHECK(good[0].grad().equal(at::tensor({1.0f, 2.0f})));
  scaler.update();
  CHECK(scaler.scale() == 65536.0);
  const std::vector<at::Tensor> bad{with_gradient({1}),
                                    with_gradient({std::numeric_limits<float>::infinity()})};
  CHECK(scaler.unscale(bad));
  scaler.update();
  CHECK(scaler.scale() == 32768.0);
}

TEST_CASE("The scale doubles after 2000 good updates in a row, counted across a resume") {
  GradientScaler scaler({.initial = 8.0});
  for (int i = 0; i < 1500; ++i) scaler.update();
  GradientScaler resumed({.initial = 1.0});
  resumed.load_state(parse_json(dump_json(scaler.state()), "state"));
  for (int i = 0; i < 499; ++i) resumed.update();
  CHECK(resumed.scale() == 8.0);
  resumed.update();
  CHECK(resumed.scale() == 16.0);
  resumed.set_overflow(true);
  resumed.update();
  for (int i = 0; i < 1999; ++i) resumed.update();
  CHECK(resumed.scale() == 8.0);
}

namespace {

void run(GradientScaler& scaler, const std::vector<bool>& overflows) {
  for (const bool overflow : overflows) {
    scaler.set_overflow(overflow);
    scaler.update();
  }
}

}  // namespace

TEST_CASE("Hysteresis tolerates overflows until the scale shrinks, and is whole again after growth") {
  GradientScaler scaler({.initial = 64, .growth_interval = 3, .hysteresis = 2});
  run(scaler, {true});
  CHECK(scaler.scale() == 64);
  run(scaler, {false, true});  // the tolerance was used up, and two good updates did not give it back
  CHECK(scaler.scale() == 32);
  run(scaler, {true});
  CHECK(scaler.scale() == 16);
  run(scaler, {false, false, false, true});
  CHECK(scaler.scale() == 32);
}

TEST_CASE("Consecutive hysteresis is whole again after every good update") {
  GradientScaler scaler({.initial = 64, .hysteresis = 2, .refill = true});
  run(scaler, {true, false, true, false});
  CHECK(scaler.scale() == 64);
  run(scaler, {true, true});
  CHECK(scaler.scale() == 32);
}

TEST_CASE("A scale that cannot shrink any more ends the run") {
  GradientScaler scaler({.initial = 4, .minimum = 3});
  run(scaler, {true});
  CHECK(scaler.scale() == 3);
  try {
    run(scaler, {true});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDiverged);
  }
}

TEST_CASE("A fixed scale never moves, not even by resuming a run that had another one") {
  GradientScaler scaler({.initial = 128, .dynamic = false, .growth_interval = 1});
  run(scaler, {true, false, false, true});
  CHECK(scaler.scale() == 128);
  scaler.load_state({{"scale", 4.0}, {"good_updates", 1}});
  CHECK(scaler.scale() == 128);
}

TEST_CASE("The tolerance of a dynamic scale survives a resume") {
  GradientScaler first({.initial = 64, .hysteresis = 2}), second({.initial = 1, .hysteresis = 2});
  run(first, {true});
  second.load_state(parse_json(dump_json(first.state()), "state"));
  run(second, {true});
  CHECK(second.scale() == 32);
}

}  // namespace hftrain::optim
