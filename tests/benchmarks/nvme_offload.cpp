// Memory and speed of training GPT-2 124M on one rank with the optimizer's state in memory or on NVMe.
// Usage: bench_nvme_offload <folder, or - for memory> <block> <batch> <steps>
// Prints "<resident MB> <peak MB> <seconds per step> <of them in the optimizer> <last loss>".
// scripts/bench/nvme_offload.py runs both and compares.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/models/model.h"
#include "hftrain/optim/clipping.h"
#include "hftrain/optim/gradient_norm.h"
#include "hftrain/parallel/nvme_optimizer.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/tensor_memory.h"

namespace {

using namespace hftrain;

std::unique_ptr<optim::Optimizer> make_optimizer(const models::Model& model, const std::string& folder) {
  std::vector<optim::ParameterGroup> groups{{{}, 0.01}, {{}, 0.0}};
  const auto& specs = model.architecture().parameters().parameters;
  for (size_t i = 0; i < specs.size(); ++i) {
    groups[specs[i].weight_decay ? 0 : 1].parameters.push_back(model.parameters()[i]);
  }
  parallel::OptimizerMaker maker = [](std::vector<optim::ParameterGroup> parameters) {
    return optim::make_optimizer("adamw_torch_fused", std::move(parameters), {});
  };
  plan::NvmePlan plan;
  plan.optimizer_path = folder;
  if (folder != "-") maker = parallel::on_nvme(maker, plan);
  return maker(std::move(groups));
}

void measure(const std::string& folder, int64_t block, int64_t batch_size, int steps) {
  const auto architecture =
      architectures::Architecture::from_scratch("gpt2", "resid_pdrop=0,embd_pdrop=0,attn_pdrop=0");
  const auto model = models::build_model(architecture, {});
  model->initialise(at::detail::createCPUGenerator(0));
  const auto optimizer = make_optimizer(*model, folder);
  nn::UnitRunner runner;
  models::Batch batch;
  auto generator = at::detail::createCPUGenerator(1);
  batch.input_ids =
      at::randint(architecture->vocab_size(), {batch_size, block}, generator, at::TensorOptions(at::kLong));
  batch.labels = batch.input_ids;
  double loss = 0, in_optimizer = 0, start = 0;
  for (int step = 0; step <= steps; ++step) {  // the first one warms up
    if (step == 1) in_optimizer = 0, start = monotonic_seconds();
    const models::Output output =
        model->forward(batch, runner, models::loss_objective(*architecture, batch, {}));
    output.loss.backward();
    const at::Tensor squares = optim::squared_gradient_norm(model->parameters(), at::kCPU);
    const double before = monotonic_seconds();
    optimizer->step({1e-4, std::nullopt, optim::clipping_of(squares, 1.0, {}).factor});
    in_optimizer += monotonic_seconds() - before;
    optimizer->zero_grad();
    loss = output.loss.item<double>();
  }
  const double seconds = (monotonic_seconds() - start) / steps;
  const runtime::HostMemory memory = runtime::host_memory();
  std::printf("%.1f %.1f %.3f %.3f %.9g\n", static_cast<double>(memory.resident) / 1e6,
              static_cast<double>(memory.peak_resident) / 1e6, seconds, in_optimizer / steps, loss);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s folder|- block batch steps\n", argv[0]);
    return 2;
  }
  try {
    runtime::install_tensor_memory(runtime::Pages::kSmall);
    measure(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), std::atoi(argv[4]));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.render().c_str());
    return 1;
  }
}
