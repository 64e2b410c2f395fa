// Optimizer state on NVMe, held to the same optimizer with its state in memory.
#include "hftrain/parallel/nvme_optimizer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/parallel/nvme_shard.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

using namespace hftrain;
using optim::Access;
using optim::ParameterGroup;
using parallel::NvmeOptimizer;
using parallel::OptimizerMaker;

namespace {

OptimizerMaker maker_of(const std::string& name, const std::map<std::string, std::string>& options = {}) {
  return [=](std::vector<ParameterGroup> groups) {
    return optim::make_optimizer(name, std::move(groups), {.options = options});
  };
}

// A matrix of several groups, small ones that share a group, an odd one, one number, none, and bfloat16.
std::vector<ParameterGroup> make_parameters() {
  auto generator = at::detail::createCPUGenerator(3);
  const auto make = [&](std::vector<int64_t> shape, at::ScalarType dtype = at::kFloat) {
    return at::randn(shape, generator, at::TensorOptions()).to(dtype).requires_grad_(true);
  };
  return {{{make({300, 513}), make({64, 64}), make({0, 5}), make({33, 7}, at::kBFloat16)}, 0.1},
          {{make({777}), make({}), make({5000})}, 0.0}};
}

plan::NvmePlan nvme_plan_in(const testing::TemporaryDirectory& folder) {
  plan::NvmePlan plan;
  plan.optimizer_path = folder.path();
  plan.buffer_bytes = 128 << 10;  // about ten groups
  plan.block_bytes = 16 << 10;
  return plan;
}

// The same gradients for the same step; one parameter has none in every third.
void set_gradients(const optim::Optimizer& optimizer, int step) {
  auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(step) + 100);
  const std::vector<at::Tensor> parameters = optimizer.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor gradient = at::randn(parameters[i].sizes(), generator, at::TensorOptions());
    parameters[i].mutable_grad() =
        i == 1 && step % 3 == 2 ? at::Tensor() : gradient.to(parameters[i].scalar_type());
  }
}

void take_steps(optim::Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    set_gradients(optimizer, step);
    optimizer.step(1e-2 / (1 + step));
  }
}

void check_equal(optim::Optimizer& nvme, const optim::Optimizer& memory) {
  const auto one = nvme.parameters(), other = memory.parameters();
  REQUIRE(one.size() == other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    INFO("parameter " << i);
    CHECK(one[i].equal(other[i]));
  }
  size_t seen = 0;
  nvme.visit_state(
      [&](size_t index, const std::string& name, const at::Tensor& state) {
        INFO("parameter " << index << ", " << name);
        CHECK(state.equal(memory.state(index, name)));
        ++seen;
      },
      Access::kRead);
  CHECK(seen == one.size() * memory.state_names().size());
}

struct Case {
  const char* name;
  std::map<std::string, std::string> options;
};

}  // namespace

TEST_CASE("an optimizer with its state on NVMe does what it does in memory, bit for bit") {
  const auto which =
      GENERATE(Case{"adamw_torch_fused", {}}, Case{"lion_32bit", {}},
               Case{"sgd", {{"momentum", "0.9"}, {"nesterov", "true"}}}, Case{"sgd", {}},
               Case{"adamw_anyprecision", {{"use_kahan_summation", "true"}}},
               Case{"rmsprop", {{"momentum", "0.5"}, {"centered", "true"}}}, Case{"adagrad", {}});
  INFO(which.name);
  const testing::TemporaryDirectory folder;
  // Elementwise kernels of ATen deal work out to threads at any number, and round apart where a part ends.
  const int threads = at::get_num_threads();
  if (std::string(which.name) != "adamw_torch_fused") at::set_num_threads(1);
  const OptimizerMaker maker = maker_of(which.name, which.options);
  NvmeOptimizer nvme(make_parameters(), maker, nvme_plan_in(folder));
  const auto memory = maker(make_parameters());
  CHECK(nvme.state_names() == memory->state_names());
  take_steps(nvme, 0, 20);
  take_steps(*memory, 0, 20);
  check_equal(nvme, *memory);
  at::set_num_threads(threads);
}

TEST_CASE("reading ahead and writing behind change nothing but the time") {
  const testing::TemporaryDirectory folder;
  plan::NvmePlan plan = nvme_plan_in(folder);
  plan.pipeline_read = GENERATE(true, false);
  plan.pipeline_write = GENERATE(true, false);
  plan.buffer_count = GENERATE(1, 2, 4);
  NvmeOptimizer nvme(make_parameters(), maker_of("adamw_torch"), plan);
  const auto memory = maker_of("adamw_torch")(make_parameters());
  take_steps(nvme, 0, 5);
  take_steps(*memory, 0, 5);
  check_equal(nvme, *memory);
}

TEST_CASE("state on NVMe goes into a checkpoint and comes back from it") {
  const testing::TemporaryDirectory folder;
  const OptimizerMaker maker = maker_of("adamw_torch_fused");
  NvmeOptimizer first(make_parameters(), maker, nvme_plan_in(folder));
  take_steps(first, 0, 7);
  NvmeOptimizer second(make_parameters(), maker, nvme_plan_in(folder));
  take_steps(second, 0, 2);  // its buffers hold what is about to be replaced
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < first.parameters().size(); ++i) second.parameters()[i].copy_(first.parameters()[i]);
  second.visit_state([&](size_t index, const std::string& name,
                         const at::Tensor& state) { state.copy_(first.state(index, name)); },
                     Access::kWrite);
  const auto memory = maker(make_parameters());
  take_steps(*memory, 0, 12);
  take_steps(second, 7, 12);
  check_equal(second, *memory);
}

TEST_CASE("looking at the layout of state on NVMe reads nothing") {
  const testing::TemporaryDirectory folder;
  NvmeOptimizer nvme(make_parameters(), maker_of("adamw_torch"), nvme_plan_in(folder));
  const auto memory = maker_of("adamw_torch")(make_parameters());
  size_t seen = 0;
  nvme.visit_state(
      [&](size_t index, const std::string& name, const at::Tensor& state) {
        seen += state.is_meta() ? 1 : 0;
        CHECK(state.sizes() == memory->state(index, name).sizes());
        CHECK(state.scalar_type() == memory->state(index, name).scalar_type());
        CHECK((state.is_meta() || state.dim() == 0));
      },
      Access::kLayout);
  CHECK(seen >= nvme.parameters().size());
}

TEST_CASE("memory for state on NVMe is bounded by the plan's buffers and by a tenth of the state") {
  const testing::TemporaryDirectory folder;
  plan::NvmePlan plan = nvme_plan_in(folder);
  std::vector<ParameterGroup> groups = {{{at::zeros({3000, 1000})}, 0.0}};
  const NvmeOptimizer nvme(groups, maker_of("adamw_torch"), plan);
  CHECK(nvme.state_bytes() <= 3 * plan.buffer_bytes + int64_t{4} * static_cast<int64_t>(nvme.sub_groups()));
  CHECK(nvme.sub_groups() > 100);
  CHECK(nvme.file().bytes() >= 24'000'000);
  CHECK(nvme.file().bytes() < 25'000'000);
  CHECK(std::filesystem::is_empty(folder.path()));
  plan.buffer_bytes = int64_t{1} << 30;
  const plan::NvmeStaging staging = plan::nvme_staging(plan, 1'000'000'000);
  CHECK(staging.buffers == 3);
  CHECK(staging.bytes() <= 100'100'000);
}

TEST_CASE("parameters on NVMe are updated as parameters in memory are, and leave memory again") {
  const testing::TemporaryDirectory folder;
  const at::NoGradGuard no_grad;
  std::vector<ParameterGroup> groups = make_parameters();
  for (ParameterGroup& group : groups) {
    for (at::Tensor& parameter : group.parameters) {
      const at::Tensor there =
          parallel::make_nvme_shard(folder.path(), parameter.numel(), parameter.scalar_type())
              .view(parameter.sizes());
      there.copy_(parameter);
      CHECK(parallel::is_on_nvme(there));
      parallel::let_go_of_pages(there);
      parameter = there;
    }
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  NvmeOptimizer nvme(groups, maker_of("adamw_torch_fused"), nvme_plan_in(folder));
  const auto memory = maker_of("adamw_torch_fused")(make_parameters());
  CHECK_FALSE(parallel::is_on_nvme(memory->parameters().front()));
  take_steps(nvme, 0, 6);
  take_steps(*memory, 0, 6);
  check_equal(nvme, *memory);
}

TEST_CASE("optimizers whose state is not number by number are refused for NVMe") {
  const testing::TemporaryDirectory folder;
  try {
    NvmeOptimizer(make_parameters(), maker_of("adafactor"), nvme_plan_in(folder));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.render(), Catch::Contains("adafactor") && Catch::Contains("NVMe"));
  }
}
