#include "hftrain/optim/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>

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
  GradientScaler scaler(8.0);
  for (int i = 0; i < 1500; ++i) scaler.update();
  GradientScaler resumed(1.0);
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

}  // namespace hftrain::optim
