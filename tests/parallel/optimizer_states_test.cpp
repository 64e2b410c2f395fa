// What the plan says of an optimizer's state without making one, beside those that are made.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "hftrain/optim/list_optimizer.h"
#include "hftrain/optim/optimizer.h"
#include "hftrain/plan/optimizer_memory.h"
#include "support/catch.h"
#include "support/most_bytes.h"

using namespace hftrain;

namespace {

using Options = std::map<std::string, std::string>;

// Without its counter, which is of no parameter.
std::vector<std::string> states_of(const std::string& optimizer, const Options& options) {
  const at::Tensor parameter = at::zeros({2, 2}).requires_grad_(true);
  std::vector<std::string> names =
      optim::make_optimizer(optimizer, {{{parameter}, 0.0}}, {.options = options})->state_names();
  std::erase(names, "step");
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> planned(const std::string& optimizer, const Options& options) {
  plan::OptimizerPlan plan;
  plan.name = optimizer;
  plan.options = options;
  std::vector<std::string> names = states_of(optimizer, {});
  const std::vector<std::string> further = plan::states_by_options(plan);
  names.insert(names.end(), further.begin(), further.end());
  std::ranges::sort(names);
  return names;
}

// Of three matrices that decay and a vector that does not, some of which make a list and one is a list of its own.
const std::vector<std::vector<int64_t>> kShapes = {{3000, 3000}, {2000, 3000}, {1500, 2000}, {4000}};

int64_t counted_update(const plan::OptimizerPlan& plan, at::ScalarType type) {
  std::vector<optim::ParameterGroup> groups = {{{}, plan.weight_decay}, {{}, 0.0}};
  for (const std::vector<int64_t>& shape : kShapes) {
    const at::Tensor parameter = at::ones(shape, type).requires_grad_(true);
    parameter.mutable_grad() = at::ones(shape, type);
    groups[shape.size() > 1 ? 0 : 1].parameters.push_back(parameter);
  }
  const auto optimizer =
      optim::make_optimizer(plan.name, groups, {.options = plan.options, .as_on_device = true});
  optim::Pace pace(1e-3);
  pace.skip = at::zeros({}, at::kFloat);
  optimizer->step(pace);  // of the first one momentum is copied
  return testing::most_bytes([&] { optimizer->step(pace); });
}

int64_t planned_update(const plan::OptimizerPlan& plan, const char* type) {
  architectures::ParameterTable table;
  for (const std::vector<int64_t>& shape : kShapes)
    table.parameters.push_back({.shape = shape, .weight_decay = shape.size() > 1});
  return plan::update_bytes(plan, table, type);
}

}  // namespace

TEST_CASE("the plan knows what an update on a device takes beside the state") {
  CHECK(plan::kUpdateListBytes == optim::ListOptimizer::kListBytes);
  struct Kind {
    std::string name;
    Options options = {};
    bool of_one_type = true;  // in bfloat16, too: else the CPU widens numbers where a device does not
  };
  const Kind kind =
      GENERATE(values<Kind>({{"sgd"},
                             {"sgd", {{"momentum", "0.9"}}},
                             {"sgd", {{"momentum", "0.9"}, {"nesterov", "true"}}},
                             {"adagrad"},
                             {"rmsprop"},
                             {"rmsprop", {{"momentum", "0.5"}, {"centered", "true"}}},
                             {"lion_32bit"},
                             {"adafactor", {}, false},
                             {"adamw_anyprecision", {}, false},
                             {"adamw_anyprecision",
                              {{"use_kahan_summation", "true"}, {"compensation_buffer_dtype", "float32"}},
                              false}}));
  const bool half = GENERATE(false, true);
  if (half && !kind.of_one_type) return;
  plan::OptimizerPlan plan;
  plan.name = kind.name;
  plan.options = kind.options;
  plan.weight_decay = GENERATE(0.0, 0.1);
  INFO(plan.name << ' ' << kind.options.size() << (half ? " bfloat16" : "") << " decay "
                 << plan.weight_decay);
  const auto held = static_cast<double>(counted_update(plan, half ? at::kBFloat16 : at::kFloat));
  const auto planned = static_cast<double>(planned_update(plan, half ? "bfloat16" : "float32"));
  INFO(held / (1 << 20) << " MiB of " << planned / (1 << 20) << " planned");
  CHECK(held <= 1.03 * planned + (1 << 16));
  CHECK(held >= 0.97 * planned);
}

TEST_CASE("LibTorch's kernel of Adam needs nothing beside the state") {
  plan::OptimizerPlan plan;
  for (const char* name : {"adamw_torch_fused", "adamw_torch", "adam"}) {
    plan.name = name;
    CHECK(planned_update(plan, "float32") == 0);
    CHECK(counted_update(plan, at::kFloat) < 1 << 16);
  }
}

TEST_CASE("the plan knows what each optimizer keeps by its options") {
  for (const std::string& name : optim::optimizer_names()) {
    INFO(name);
    CHECK(planned(name, {}) == states_of(name, {}));
  }
  const std::vector<std::pair<std::string, Options>> cases = {
      {"sgd", {{"momentum", "0.9"}, {"nesterov", "true"}}},
      {"sgd", {{"momentum", "0"}}},
      {"rmsprop", {{"momentum", "0.5"}}},
      {"rmsprop", {{"centered", "True"}}},
      {"rmsprop", {{"centered", "true"}, {"momentum", "0.5"}}},
      {"adamw_anyprecision", {{"use_kahan_summation", "true"}}},
      {"adamw_anyprecision", {{"use_kahan_summation", "false"}}}};
  for (const auto& [name, options] : cases) {
    INFO(name << ' ' << options.begin()->first << '=' << options.begin()->second);
    CHECK(planned(name, options) == states_of(name, options));
  }
}
