// Tokens per second of forward, backward, clipping and AdamW on random tokens, one process.
// Usage: bench_train_step <model_type> <overrides> <block> <batch> <threads> <steps> [<share of masked tokens>]; with a
// share the model is one of masked language. Prints "<tokens/s> <tokens per second of CPU time> <last loss>". scripts/bench/train_step.py runs it against the same loop with transformers, in turn.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "hftrain/models/model.h"
#include "hftrain/optim/clipping.h"
#include "hftrain/optim/gradient_norm.h"
#include "hftrain/optim/optimizer.h"

namespace {

using namespace hftrain;

std::vector<optim::ParameterGroup> parameter_groups(const models::Model& model) {
  std::vector<optim::ParameterGroup> groups{{{}, 0.01}, {{}, 0.0}};
  const auto& specs = model.architecture().parameters().parameters;
  for (size_t i = 0; i < specs.size(); ++i) {
    groups[specs[i].weight_decay ? 0 : 1].parameters.push_back(model.parameters()[i]);
  }
  return groups;
}

models::Batch random_batch(int64_t vocabulary, int64_t rows, int64_t block, double masked) {
  models::Batch batch;
  batch.input_ids = at::randint(vocabulary, {rows, block}, at::kLong);
  batch.labels = batch.input_ids;
  if (masked > 0) batch.labels = batch.input_ids.masked_fill(at::rand({rows, block}) >= masked, -100);
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7 || argc > 8) {
    std::fprintf(stderr, "usage: %s model_type overrides block batch threads steps [masked]\n", argv[0]);
    return 2;
  }
  const int64_t block = std::atoll(argv[3]), batch_size = std::atoll(argv[4]);
  const int steps = std::atoi(argv[6]);
  at::set_num_threads(std::atoi(argv[5]));
  const double masked = argc == 8 ? std::atof(argv[7]) : 0;
  const auto architecture = architectures::Architecture::from_scratch(
      argv[1], argv[2], masked > 0 ? architectures::Head::kMaskedLm : architectures::Head::kCausalLm);
  const auto model = models::build_model(architecture, {});
  model->initialise(at::detail::createCPUGenerator(0));
  const auto optimizer = optim::make_optimizer("adamw_torch_fused", parameter_groups(*model), {});
  nn::UnitRunner runner;
  const models::Batch batch = random_batch(architecture->vocab_size(), batch_size, block, masked);

  double loss = 0;
  const int warmup = 5;
  std::chrono::steady_clock::time_point start;
  std::clock_t cpu_start = 0;
  for (int step = 0; step < warmup + steps; ++step) {
    if (step == warmup) {
      start = std::chrono::steady_clock::now();
      cpu_start = std::clock();
    }
    const models::Output output =
        model->forward(batch, runner, models::loss_objective(*architecture, batch, {}));
    output.loss.backward();
    const at::Tensor squares = optim::squared_gradient_norm(model->parameters(), at::kCPU);
    optimizer->step({1e-4, std::nullopt, optim::clipping_of(squares, 1.0, {}).factor});
    optimizer->zero_grad();
    loss = output.loss.item<double>();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  const double tokens = static_cast<double>(steps * batch_size * block);
  std::printf("%.1f %.1f %.6f\n", tokens / seconds.count(), tokens / cpu_seconds, loss);
  return 0;
}
