// Optimizers against torch and transformers (fixture of scripts/golden/optim.py).
#include "hftrain/optim/optimizer.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>

#include <set>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "models/golden_file.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::optim {
namespace {

using testing::GoldenFile;

OptimizerSettings settings_of(const Json& golden_case) {
  OptimizerSettings settings;
  settings.beta1 = golden_case.value("beta1", settings.beta1);
  settings.beta2 = golden_case.value("beta2", settings.beta2);
  settings.epsilon = golden_case.value("epsilon", settings.epsilon);
  if (golden_case.contains("optim_args")) {
    settings.options = golden_case["optim_args"].get<std::map<std::string, std::string>>();
  }
  return settings;
}

std::unique_ptr<Optimizer> golden_optimizer(const GoldenFile& golden, const Json& golden_case) {
  const Json decay = Json::parse(golden.metadata("decay"));
  std::vector<ParameterGroup> groups;
  for (size_t i = 0; i < decay.size(); ++i) {
    at::Tensor parameter = golden.tensor("parameter/" + std::to_string(i)).requires_grad_(true);
    groups.push_back({{parameter}, decay[i].get<double>()});
  }
  return make_optimizer(golden_case["optimizer"].get<std::string>(), groups, settings_of(golden_case));
}

// One step on the golden gradients of `step`.
void advance(const GoldenFile& golden, Optimizer& optimizer, int step) {
  const auto parameters = optimizer.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].mutable_grad() =
        golden.tensor("gradient/" + std::to_string(i) + '/' + std::to_string(step));
  }
  optimizer.step(std::stod(golden.metadata("rate")));
}

void check_values(const GoldenFile& golden, const Optimizer& optimizer, const std::string& name, int step) {
  const auto parameters = optimizer.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor expected = golden.tensor(name + '/' + std::to_string(i) + '/' + std::to_string(step));
    INFO(name << " parameter " << i << " step " << step);
    CHECK((parameters[i].detach() - expected).abs().max().item<double>() < 1e-6);
  }
}

// What LibTorch's own fused kernel makes of the same parameter and gradients.
struct FusedAdamW {
  at::Tensor parameter, first, second;
  int64_t steps = 0;

  explicit FusedAdamW(const at::Tensor& start)
      : parameter(start.detach().clone()),
        first(at::zeros_like(parameter)),
        second(at::zeros_like(parameter)) {}
  void step(const at::Tensor& gradient, double rate, double weight_decay) {
    ++steps;
    at::_fused_adamw_({parameter}, {gradient}, {first}, {second}, {}, {at::scalar_tensor(steps, at::kFloat)},
                      rate, 0.9, 0.999, weight_decay, 1e-8, /*amsgrad=*/false, /*maximize=*/false);
  }
};

std::vector<ParameterGroup> one_group() {
  return {{{at::ones({3}).requires_grad_(true)}, 0.0}};
}

}  // namespace

TEST_CASE("Every optimizer follows its reference step by step", "[parity]") {
  const GoldenFile golden("optim/optimizers");
  std::set<std::string> seen;
  for (const Json& golden_case : Json::parse(golden.metadata("cases"))) {
    const std::string name = golden_case["case"];
    seen.insert(golden_case["optimizer"].get<std::string>());
    DYNAMIC_SECTION(name) {
      const auto optimizer = golden_optimizer(golden, golden_case);
      for (int step = 0; step < std::stoi(golden.metadata("steps")); ++step) {
        advance(golden, *optimizer, step);
        check_values(golden, *optimizer, name, step);
      }
    }
  }
  seen.insert("adamw_hf");  // another name of adamw_torch
  const std::vector<std::string> all = optimizer_names();
  CHECK(seen == std::set<std::string>(all.begin(), all.end()));
}

TEST_CASE("AdamW makes the very bits of LibTorch's fused kernel") {
  at::set_num_threads(2);
  constexpr int64_t kNumel = 3 << 16;  // whole vectors for both threads
  const double weight_decay = GENERATE(0.0, 0.1);
  at::manual_seed(1);
  const at::Tensor parameter = at::randn({kNumel}).requires_grad_(true);
  FusedAdamW reference(parameter);
  const auto optimizer = make_optimizer("adamw_torch_fused", {{{parameter}, weight_decay}}, {});
  for (int step = 1; step <= 20; ++step) {
    const double rate = 1e-3 * step;
    const at::Tensor gradient = at::randn({kNumel}) * (at::randn({kNumel}) * 4).exp();  // many magnitudes
    parameter.mutable_grad() = gradient.clone();
    optimizer->step(rate);
    reference.step(gradient, rate, weight_decay);
  }
  CHECK(at::equal(parameter.detach(), reference.parameter));
  CHECK(at::equal(optimizer->state(0, "exp_avg"), reference.first));
  CHECK(at::equal(optimizer->state(0, "exp_avg_sq"), reference.second));
}

TEST_CASE("AdamW of a slice makes the very bits of the whole") {
  constexpr int64_t kNumel = 1003, kCut = 333;
  at::manual_seed(2);
  const at::Tensor start = at::randn({kNumel}), whole = start.clone().requires_grad_(true),
                   head = start.slice(0, 0, kCut).clone().requires_grad_(true),
                   tail = start.slice(0, kCut).clone().requires_grad_(true);
  const auto of_whole = make_optimizer("adamw_torch_fused", {{{whole}, 0.1}}, {}),
             of_slices = make_optimizer("adamw_torch_fused", {{{head, tail}, 0.1}}, {});
  for (int step = 0; step < 20; ++step) {
    whole.mutable_grad() = at::randn({kNumel});
    head.mutable_grad() = whole.grad().slice(0, 0, kCut).clone();
    tail.mutable_grad() = whole.grad().slice(0, kCut).clone();
    of_whole->step(1e-2);
    of_slices->step(1e-2);
  }
  CHECK(at::equal(whole.detach(), at::cat({head.detach(), tail.detach()})));
}

TEST_CASE("An optimizer goes on exactly from copied state") {
  const GoldenFile golden("optim/optimizers");
  for (const Json& golden_case : Json::parse(golden.metadata("cases"))) {
    DYNAMIC_SECTION(golden_case["case"].get<std::string>()) {
      const auto first = golden_optimizer(golden, golden_case),
                 second = golden_optimizer(golden, golden_case);
      for (int step = 0; step < 3; ++step) advance(golden, *first, step);
      const auto from = first->parameters(), to = second->parameters();
      for (size_t i = 0; i < from.size(); ++i) {
        to[i].detach().copy_(from[i].detach());
        for (const std::string& name : first->state_names()) {
          if (first->state(i, name).defined()) second->state(i, name).copy_(first->state(i, name));
        }
      }
      advance(golden, *first, 3);
      advance(golden, *second, 3);
      for (size_t i = 0; i < from.size(); ++i) CHECK(from[i].detach().equal(to[i].detach()));
    }
  }
}

TEST_CASE("Betas of an update are those of an optimizer that was made with them") {
  const Betas first{0.8, 0.99}, second{0.87, 0.98};
  for (const char* name : {"adamw_torch_fused", "adamw_anyprecision", "adam", "lion_32bit"}) {
    INFO(name);
    at::manual_seed(5);
    const at::Tensor start = at::randn({37}), gradients = at::randn({2, 37});
    const auto made = [&](const at::Tensor& values, const Betas& betas) {
      OptimizerSettings settings;
      settings.beta1 = betas.first;
      settings.beta2 = betas.second;
      return make_optimizer(name, {{{values.detach().clone().requires_grad_(true)}, 0.1}}, settings);
    };
    const auto advance_by = [&](Optimizer& optimizer, int step, const Pace& pace) {
      optimizer.parameters()[0].mutable_grad() = gradients[step].clone();
      optimizer.step(pace);
    };
    const auto moving = made(start, {0.9, 0.999}), before = made(start, first);
    advance_by(*moving, 0, {1e-2, first});
    advance_by(*before, 0, 1e-2);
    const auto after = made(before->parameters()[0], second);
    for (const std::string& state : after->state_names()) {
      const at::NoGradGuard no_grad;
      if (after->state(0, state).defined()) after->state(0, state).copy_(before->state(0, state));
    }
    advance_by(*moving, 1, {2e-2, second});
    advance_by(*after, 1, 2e-2);
    CHECK(at::equal(moving->parameters()[0].detach(), after->parameters()[0].detach()));
  }
}

TEST_CASE("Betas for an optimizer without any are an error, not ignored") {
  for (const char* name : {"sgd", "adagrad", "rmsprop", "adafactor"}) {
    const auto optimizer = make_optimizer(name, {{{at::ones({2}).requires_grad_(true)}, 0}}, {});
    CHECK_REFUSED(optimizer->step({0.1, Betas{}}), "has no betas to set");
  }
}

TEST_CASE("A parameter without gradient stays as it is") {
  for (const std::string& name : optimizer_names()) {
    const auto optimizer = make_optimizer(name, {{{at::ones({2}).requires_grad_(true)}, 0.1}}, {});
    optimizer->step(0.1);
    INFO(name);
    CHECK(optimizer->parameters()[0].detach().equal(at::ones({2})));
  }
}

TEST_CASE("Gradients are dropped, or zeroed in place so that views stay valid") {
  const auto optimizer = make_optimizer("sgd", one_group(), {});
  const at::Tensor parameter = optimizer->parameters()[0];
  const at::Tensor bucket = at::full({3}, 2.0);
  parameter.mutable_grad() = bucket;
  optimizer->zero_grad(/*to_none=*/false);
  CHECK(bucket.equal(at::zeros({3})));
  CHECK(parameter.grad().is_same(bucket));
  optimizer->zero_grad();
  CHECK_FALSE(parameter.grad().defined());
}

TEST_CASE("Unknown optimizers, options and values are usage errors that name what is known") {
  const auto render = [](const std::string& name, const OptimizerSettings& settings) {
    try {
      make_optimizer(name, one_group(), settings);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return error.render();
    }
    return std::string("accepted");
  };
  CHECK_THAT(render("adamm", {}), Catch::Contains("adamw_torch"));
  OptimizerSettings settings;
  settings.options = {{"momentun", "0.9"}};
  CHECK_THAT(render("sgd", settings), Catch::Contains("momentum"));
  CHECK_THAT(render("adafactor", settings), Catch::Contains("no options"));
  settings.options = {{"momentum", "fast"}};
  CHECK_THAT(render("sgd", settings), Catch::Contains("not a number"));
  settings.options = {{"nesterov", "true"}};
  CHECK_THAT(render("sgd", settings), Catch::Contains("nesterov needs momentum"));
  settings.options = {{"use_kahan_summation", "maybe"}};
  CHECK_THAT(render("adamw_anyprecision", settings), Catch::Contains("true or false"));
}

// On a GPU LibTorch's kernel refuses more than one; on the CPU it takes them, so that the calls are looked at.
TEST_CASE("AdamW hands LibTorch's kernel parameters of one type at a time") {
  thread_local std::vector<std::set<at::ScalarType>> calls;
  calls.clear();
  const auto parameter = [](at::ScalarType dtype) {
    at::Tensor made = at::ones({4}, dtype).requires_grad_(true);
    made.mutable_grad() = at::ones({4}, dtype);
    return made;
  };
  const std::vector<at::Tensor> mixed = {parameter(at::kBFloat16), parameter(at::kDouble),
                                         parameter(at::kBFloat16), parameter(at::kFloat)};
  const auto optimizer = make_optimizer("adamw_torch", {{mixed, 0.1}}, {});
  const auto watch = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    if (std::string_view(call.name()) == "aten::_fused_adamw_") {
      std::set<at::ScalarType> types;
      for (const at::Tensor& each : call.inputs()[0].toTensorVector()) types.insert(each.scalar_type());
      calls.push_back(types);
    }
    return nullptr;
  };
  const at::CallbackHandle handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(watch).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  optimizer->step(0.5);
  at::removeCallback(handle);
  CHECK(calls.size() == 2);  // of float32 on the CPU there is a loop of ours
  for (const auto& types : calls) CHECK(types.size() == 1);
  for (const at::Tensor& each : mixed) CHECK(each[0].item<double>() < 0.6);
}

TEST_CASE("Kahan summation lets a bfloat16 parameter move by steps below its resolution") {
  const auto run = [](const char* kahan) {
    OptimizerSettings settings;
    settings.options = {{"use_kahan_summation", kahan}};
    const at::Tensor parameter = at::full({1}, 100.0, at::kBFloat16).requires_grad_(true);
    const auto optimizer = make_optimizer("adamw_anyprecision", {{{parameter}, 0.0}}, settings);
    for (int step = 0; step < 100; ++step) {
      parameter.mutable_grad() = at::ones({1}, at::kBFloat16);
      optimizer->step(0.01);
    }
    return parameter.item<float>();
  };
  CHECK(run("False") == 100.0f);
  CHECK(run("True") < 99.6f);
}

}  // namespace hftrain::optim
