// Updates as they are made on a device: by lists, handed out before anybody knows the norm, and skipped there. On the CPU,
// where the numbers can be looked at, and on Meta, where reading one throws.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/library.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/optim/optimizer.h"
#include "support/called_operators.h"
#include "support/catch.h"

namespace hftrain::optim {
namespace {

struct Kind {
  const char* name;
  std::map<std::string, std::string> options;
};

// All, with what their options add to them.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll = {
      {"adamw_torch_fused", {}},
      {"adamw_anyprecision", {}},
      {"adamw_anyprecision", {{"use_kahan_summation", "True"}}},
      {"adafactor", {}},
      {"sgd", {}},
      {"sgd", {{"momentum", "0.9"}, {"dampening", "0.1"}}},
      {"sgd", {{"momentum", "0.9"}, {"nesterov", "True"}}},
      {"adagrad", {{"lr_decay", "0.1"}}},
      {"rmsprop", {}},
      {"rmsprop", {{"momentum", "0.9"}, {"centered", "True"}}},
      {"lion_32bit", {}},
      {"adam", {}},
  };
  return kAll;
}

struct Trained {
  Trained(const Kind& kind, bool as_on_device, at::ScalarType dtype = at::kFloat) {
    at::manual_seed(3);
    for (const at::IntArrayRef shape :
         {at::IntArrayRef({4, 6}), at::IntArrayRef({7}), at::IntArrayRef({3, 5})})
      parameters.push_back(at::randn(shape).to(dtype).requires_grad_(true));
    optimizer = make_optimizer(kind.name, {{{parameters[0], parameters[1]}, 0.1}, {{parameters[2]}, 0.0}},
                               {.options = kind.options, .as_on_device = as_on_device});
  }
  // By gradients of `update`, or by such as are no numbers. `second_waits`: parameter 1 has none in every other update, from the first on.
  void step(int update, std::optional<float> skip, bool second_waits = false) {
    at::manual_seed(100 + update);
    const bool broken = skip.value_or(0) != 0;
    for (const at::Tensor& each : parameters) {
      at::Tensor gradient = at::randn(each.sizes()).to(each.scalar_type());
      if (broken) gradient.fill_(update % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : INFINITY);
      const bool waits = second_waits && update % 2 == 0 && each.is_same(parameters[1]);
      each.mutable_grad() = waits ? at::Tensor() : gradient;
    }
    Pace pace(1e-2);
    pace.gradient_factor =
        broken ? at::full({}, std::numeric_limits<float>::quiet_NaN()) : at::full({}, 0.5F);
    if (skip) pace.skip = at::full({}, *skip);
    optimizer->step(pace);
    if (broken) optimizer->was_skipped();
  }
  std::vector<at::Tensor> everything() const {
    std::vector<at::Tensor> all;
    for (const at::Tensor& each : parameters) all.push_back(each.detach().clone());
    optimizer->visit_state(
        [&](size_t, const std::string&, const at::Tensor& state) { all.push_back(state.clone()); },
        Access::kRead);
    return all;
  }

  std::vector<at::Tensor> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

double farthest(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double here = (a[i].to(at::kDouble) - b[i].to(at::kDouble)).abs().max().item<double>();
    if (!(here <= most)) most = here;  // what is no number is far, too
  }
  return most;
}

std::string words(const Kind& kind) {
  std::string text = kind.name;
  for (const auto& [key, value] : kind.options) text += " " + key + "=" + value;
  return text;
}

// Of a device: shapes and no numbers.
std::unique_ptr<Optimizer> on_meta(const Kind& kind, int count, int64_t rows = 4) {
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < count; ++i) {
    parameters.push_back(at::empty({rows, 6}, at::kMeta).requires_grad_(true));
    parameters.back().mutable_grad() = at::empty({rows, 6}, at::kMeta);
  }
  return make_optimizer(kind.name, {{parameters, 0.1}}, {.options = kind.options});
}

Pace unknown_pace() {
  Pace pace(1e-2);
  pace.gradient_factor = at::empty({}, at::kMeta);
  pace.skip = at::empty({}, at::kMeta);
  return pace;
}

at::Tensor& shape_of_where_out(const at::Tensor&, const at::Tensor&, const at::Tensor&, at::Tensor& out) {
  return out;
}

void fused_on_meta(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                   at::TensorList, double, double, double, double, double, bool, bool,
                   const std::optional<at::Tensor>&, const std::optional<at::Tensor>&) {}

}  // namespace

TEST_CASE("An update that a device could skip is the one that the host makes") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  for (const Kind& kind : kinds()) {
    // LibTorch's kernel rounds the sum of all, and the host each of its operations.
    if (dtype == at::kBFloat16 && std::string(kind.name) == "adam") continue;
    INFO(words(kind) << " of " << c10::toString(dtype));
    Trained host(kind, false, dtype), device(kind, true, dtype);
    for (int update = 0; update < 4; ++update) {
      host.step(update, std::nullopt);
      device.step(update, 0.0F);
      CHECK(farthest(host.everything(), device.everything()) < 1e-6);
    }
  }
}

TEST_CASE(
    "Every optimizer leaves parameters and state as they are where a device's tensor tells it to skip") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kDouble);
  for (const Kind& kind : kinds()) {
    INFO(words(kind) << " of " << c10::toString(dtype));
    Trained skips(kind, true, dtype), undisturbed(kind, true, dtype);
    REQUIRE(skips.optimizer->skips_by_tensor());
    for (int update = 0; update < 3; ++update) {
      const std::vector<at::Tensor> before = skips.everything();
      skips.step(update, 1.0F);  // the first of them before there is any state
      CHECK(farthest(skips.everything(), before) == 0);
      skips.step(update, 0.0F);
      undisturbed.step(update, 0.0F);
      CHECK(farthest(skips.everything(), undisturbed.everything()) == 0);
      CHECK(farthest(skips.everything(), before) > 0);
    }
  }
}

TEST_CASE("No optimizer reads what its device has still to compute") {
  for (const Kind& kind : kinds()) {
    INFO(words(kind));
    const auto optimizer = on_meta(kind, 3);
    CHECK_NOTHROW(optimizer->step(unknown_pace()));
    CHECK_NOTHROW(optimizer->step(unknown_pace()));
  }
}

TEST_CASE(
    "Adam and AdamW clip on a device within their own pass, one rounding farther from float64 at most") {
  const Kind kind = GENERATE(from_range(std::vector<Kind>{{"adam", {}}, {"adamw_torch_fused", {}}}));
  const auto trained = [&](bool as_on_device, at::ScalarType dtype, at::ScalarType computed, float factor) {
    at::manual_seed(3);
    const at::Tensor first = at::randn({31, 67}).to(dtype).to(computed).requires_grad_(true);
    const auto optimizer = make_optimizer(kind.name, {{{first}, 0.1}}, {.as_on_device = as_on_device});
    for (int update = 0; update < 5; ++update) {
      first.mutable_grad() = (at::randn(first.sizes()) / factor).to(dtype).to(computed);
      optimizer->step({1e-2, std::nullopt, at::full({}, factor)});
    }
    return std::vector<at::Tensor>{first.detach().to(at::kDouble),
                                   optimizer->state(0, "exp_avg").to(at::kDouble),
                                   optimizer->state(0, "exp_avg_sq").to(at::kDouble)};
  };
  const float factor = GENERATE(0.37F, 1.0F, 1.0F / 65536, 1e-12F);
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  // On the host Adam rounds each operation, where LibTorch's kernel rounds the sum of all.
  if (dtype == at::kBFloat16 && std::string(kind.name) == "adam") return;
  INFO(kind.name << " of " << c10::toString(dtype) << ", times " << factor);
  const auto exact = trained(false, dtype, at::kDouble, factor), now = trained(true, dtype, dtype, factor),
             before = trained(false, dtype, dtype, factor);
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto error = [&](const std::vector<at::Tensor>& of) {
      return (of[i] - exact[i]).square().mean().sqrt().item<double>();
    };
    INFO("tensor " << i << ": " << error(now) << ", before " << error(before));
    CHECK(error(now) <= 1.5 * error(before));  // one rounding more, of the divisor
  }
}

TEST_CASE("Gradients of Adam and AdamW on a device go through no pass before the update") {
  for (const char* name : {"adam", "adamw_torch_fused"}) {
    INFO(name);
    const auto optimizer = on_meta({name, {}}, 3);
    const testing::CalledOperators called;
    optimizer->step(unknown_pace());
    CHECK(testing::CalledOperators::count("aten::_foreach_mul_") == 0);
    CHECK(testing::CalledOperators::count("aten::reciprocal") == 1);
    optimizer->step(Pace(1e-2));  // nothing is clipped
    CHECK(testing::CalledOperators::count("aten::reciprocal") == 1);
  }
}

TEST_CASE("A factor of 0 or without a value changes nothing on a device that skips") {
  for (const char* name : {"adam", "adamw_torch_fused"}) {
    for (const float factor : {0.0F, INFINITY, std::numeric_limits<float>::quiet_NaN()}) {
      INFO(name << ", " << factor);
      const Kind kind{name, {}};
      Trained trained(kind, true);
      trained.step(0, 0.0F);
      const std::vector<at::Tensor> before = trained.everything();
      for (at::Tensor& each : trained.parameters) each.mutable_grad().fill_(INFINITY);
      Pace pace(1e-2, std::nullopt, at::full({}, factor));
      pace.skip = at::full({}, 1.0F);
      trained.optimizer->step(pace);
      CHECK(farthest(trained.everything(), before) == 0);
    }
  }
}

TEST_CASE("A device updates together what has been updated equally often") {
  for (const Kind& kind : kinds()) {
    INFO(words(kind));
    Trained host(kind, false), device(kind, true);
    for (int update = 0; update < 4; ++update) {
      host.step(update, std::nullopt, /*second_waits=*/true);
      device.step(update, 0.0F, /*second_waits=*/true);
      CHECK(farthest(host.everything(), device.everything()) < 1e-6);
    }
  }
}

TEST_CASE("A device updates parameters together, where each number is updated by itself") {
  for (const Kind& kind : kinds()) {
    if (std::string(kind.name) == "adafactor") continue;  // means over rows and columns
    INFO(words(kind));
    const auto lists_of = [&](int count, int64_t rows = 4) {
      const auto optimizer = on_meta(kind, count, rows);
      const testing::CalledOperators called;
      optimizer->step(unknown_pace());
      int calls = 0;
      for (const char* name : {"aten::_foreach_add_", "aten::_foreach_mul_", "aten::_foreach_addcdiv_",
                               "aten::_fused_adam_", "aten::_fused_adamw_"})
        calls += testing::CalledOperators::count(name);
      return calls;
    };
    CHECK(lists_of(1) > 0);
    CHECK(lists_of(40) == lists_of(1));
    // LibTorch's kernels need nothing beside what they change; of the others two of these are more than a list holds.
    const bool fused =
        std::string(kind.name).starts_with("adam") && kind.name != std::string("adamw_anyprecision");
    CHECK(lists_of(3, int64_t{2} << 20) - 1 == (fused ? 1 : 3) * (lists_of(1) - 1));  // once for gradients
  }
}

}  // namespace hftrain::optim

// LibTorch has these for Python alone.
TORCH_LIBRARY_IMPL(aten, Meta, m) {
  m.impl("where.self_out", hftrain::optim::shape_of_where_out);
  m.impl("_fused_adam_", hftrain::optim::fused_on_meta);
  m.impl("_fused_adamw_", hftrain::optim::fused_on_meta);
}
