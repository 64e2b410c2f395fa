#include "hftrain/optim/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/optim/gradient_norm.h"
#include "support/catch.h"

namespace hftrain::optim {
namespace {

at::Tensor with_gradient(std::vector<float> values) {
  at::Tensor parameter = at::zeros({static_cast<int64_t>(values.size())}).requires_grad_(true);
  parameter.mutable_grad() = at::tensor(values);
  return parameter;
}

}  // namespace

TEST_CASE("The norm is taken over all gradients and gradients above it are scaled down") {
  const std::vector<at::Tensor> parameters{with_gradient({3, 0}), with_gradient({0, 4}),
                                           at::zeros({2}).requires_grad_(true)};
  CHECK(clip_grad_norm(parameters, 1.0).item<float>() == 5.0f);
  CHECK(parameters[0].grad()[0].item<float>() == Approx(3.0 / 5.0).epsilon(1e-5));
  CHECK(parameters[1].grad()[1].item<float>() == Approx(4.0 / 5.0).epsilon(1e-5));
}

TEST_CASE("Gradients below the limit stay as they are") {
  const std::vector<at::Tensor> parameters{with_gradient({3, 4})};
  CHECK(clip_grad_norm(parameters, 10.0).item<float>() == 5.0f);
  CHECK(parameters[0].grad().equal(at::tensor({3.0f, 4.0f})));
}

TEST_CASE("Without any gradient the norm is zero") {
  const std::vector<at::Tensor> parameters{at::zeros({2}).requires_grad_(true)};
  CHECK(clip_grad_norm(parameters, 1.0).item<float>() == 0.0f);
}

TEST_CASE("The norm of bfloat16 gradients on a device is not rounded to bfloat16") {
  const std::vector<at::Tensor> gradients{at::full({1000}, 1.0, at::kBFloat16),
                                          at::full({24}, 3.0, at::kBFloat16)};
  CHECK(squared_norm_on_device(gradients).item<double>() == Approx(1216).epsilon(1e-6));
}

TEST_CASE("A NaN gradient makes all gradients NaN") {
  const std::vector<at::Tensor> parameters{with_gradient({std::numeric_limits<float>::quiet_NaN()}),
                                           with_gradient({1})};
  clip_grad_norm(parameters, 1.0);
  CHECK(parameters[1].grad().isnan().all().item<bool>());
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
