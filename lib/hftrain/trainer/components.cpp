#include "hftrain/trainer/components.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hftrain/data/document_collator.h"
#include "hftrain/data/document_packer.h"
#include "hftrain/data/image_collator.h"
#include "hftrain/data/masking.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/parallel/nvme_optimizer.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "hftrain/parallel/sharded_strategy.h"
#include "hftrain/tasks/extra_scorer.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::trainer {
namespace {

// Decayed parameters first, as the transformers Trainer orders its groups.
parallel::ParameterList parameter_list(const plan::RunPlan& plan, const models::Model& model) {
  parallel::ParameterList list;
  list.weight_decays = plan.optimizer.weight_decays();
  const auto& specs = model.architecture().parameters().parameters;
  for (size_t i = 0; i < specs.size(); ++i) {
    list.parameters.push_back(
        {specs[i].name, model.parameters()[i], specs[i].weight_decay ? size_t{0} : size_t{1}});
  }
  return list;
}

nn::KernelChoice kernels_of(const plan::FusedKernels& fused) {
  const nn::Kernels fusing = fused.own ? nn::Kernels::kFused : nn::Kernels::kComposed;
  const auto form = [fusing](bool on) { return on ? fusing : nn::Kernels::kReference; };
  nn::KernelChoice choice(form(fused.rest));
  choice.rope = form(fused.rope);
  choice.swiglu = form(fused.swiglu);
  choice.geglu = form(fused.geglu);
  choice.rms_norm = form(fused.rms_norm);
  choice.loss = form(fused.loss);
  return choice;
}

parallel::OptimizerMaker optimizer_maker(const plan::RunPlan& plan) {
  const plan::OptimizerPlan& wanted = plan.optimizer;
  parallel::OptimizerMaker make = [wanted](std::vector<optim::ParameterGroup> groups) {
    return optim::make_optimizer(wanted.name, std::move(groups),
                                 {wanted.beta1, wanted.beta2, wanted.epsilon, wanted.options});
  };
  if (plan.strategy.offload_optimizer != "nvme") return make;
  return parallel::on_nvme(std::move(make), plan.strategy.nvme);
}

// A static graph counts the gradients of its first pass, and c10d takes for the same pass what reduces nothing: of updates of
// several micro-batches none but the first would be reduced. There the graph is walked at each of them.
plan::StrategyPlan with_graph_of_updates(const plan::RunPlan& plan) {
  plan::StrategyPlan strategy = plan.strategy;
  if (plan.batch.reduces_last_alone()) strategy.static_graph.reset();
  return strategy;
}

}  // namespace

at::ScalarType dtype_named(const std::string& name) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  return kTypes.at(name);
}

std::unique_ptr<models::Model> make_model(const plan::RunPlan& plan, at::Device device) {
  models::ModelOptions options;
  options.compute_dtype = dtype_named(plan.precision.compute);
  options.parameter_dtype = dtype_named(plan.model.master_dtype);
  options.device = device;
  options.kernels = kernels_of(plan.model.fused_kernels);
  options.neftune_alpha = plan.model.neftune_noise_alpha;
  options.frozen = plan.model.frozen;
  options.allocated = !plan.strategy.sharded();
  using architectures::Architecture;
  const architectures::Head head = tasks::row_of(plan.data.task).head;
  std::optional<architectures::AdapterSpec> adapter;
  if (plan.model.adapter) adapter = plan.model.adapter->spec;
  return models::build_model(Architecture::from_config(plan.model.config, "the plan", head, adapter),
                             options);
}

std::unique_ptr<parallel::Strategy> make_strategy(const plan::RunPlan& plan, const models::Model& model,
                                                  comm::Communicator& communicator,
                                                  parallel::OptimizerMaker make_optimizer) {
  // What is only evaluated has no optimizer to keep state for, unless a checkpoint brings some along.
  const bool steps = plan.do_train || !plan.saving.resume_from.empty();
  const auto make = [steps, own = std::move(make_optimizer),
                     planned = optimizer_maker(plan)](std::vector<optim::ParameterGroup> groups) {
    if (!steps) return optim::make_optimizer("sgd", std::move(groups), {});
    std::unique_ptr<optim::Optimizer> made = own ? own(groups) : nullptr;
    return made ? std::move(made) : planned(std::move(groups));
  };
  if (plan.strategy.sharded()) {
    return std::make_unique<parallel::ShardedStrategy>(
        plan.strategy, parameter_list(plan, model), model.units(), model.options().compute_dtype, make,
        communicator, parallel::make_host_copies(model.options().device));
  }
  return std::make_unique<parallel::ReplicatedStrategy>(with_graph_of_updates(plan),
                                                        parameter_list(plan, model), make, communicator);
}

std::unique_ptr<nn::UnitRunner> make_checkpointing(const plan::RunPlan& plan, parallel::Strategy& strategy) {
  if (!plan.model.gradient_checkpointing) return nullptr;
  const bool on_gpu = plan.ranks.ranks.front().device == plan::DeviceKind::kCuda;
  return std::make_unique<nn::CheckpointingRunner>(
      strategy.unit_runner(), plan.model.checkpoint_every_n_layers, plan.model.checkpoint_offload && on_gpu);
}

std::shared_ptr<const data::Collator> make_collator(const plan::DataPlan& data, const plan::SplitPlan& split,
                                                    bool trains) {
  if (data.preprocessor) {
    return data::image_collator(*data.preprocessor,
                                trains ? data::ImageView::kTraining : data::ImageView::kEvaluation);
  }
  if (data.padding.columns.empty()) return data::block_collator();
  data::PaddingOptions padding = data.padding;
  std::erase_if(padding.columns, [&](const data::PaddedColumn& column) {
    return std::find(split.columns.begin(), split.columns.end(), column.column) == split.columns.end();
  });
  const auto& columns = split.columns;
  const bool packed = std::find(columns.begin(), columns.end(), data::kDocumentLengths) != columns.end();
  const bool joins = trains && data.joins_samples;
  if (packed || joins) return data::document_collator(std::move(padding), joins);
  if (data.masking) return data::masking_collator(std::move(padding), *data.masking);
  return data::padding_collator(std::move(padding));
}

ScorerMaker make_scorer_maker(const plan::RunPlan& plan, std::shared_ptr<const data::Dataset> dataset,
                              EvaluatedSet set, bool writes) {
  const tasks::TaskRow& task = tasks::row_of(plan.data.task);
  if (task.scorer == nullptr || plan.evaluation.outputs == tasks::OutputForm::kLossOnly) return {};
  return [&plan, dataset = std::move(dataset), set, writes, make = task.scorer] {
    const tasks::ScorerInput input{.options = plan.evaluation.scoring,
                                   .model_config = plan.model.config,
                                   .tokenizer_folder = plan.model.tokenizer_folder,
                                   .dataset = dataset,
                                   .split = set.split,
                                   .mismatched = set.mismatched,
                                   .writes = writes};
    return tasks::with_extra_metrics(
        make(input), {.of_inputs = plan.evaluation.gives_inputs, .of_losses = plan.evaluation.gives_losses});
  };
}

std::unique_ptr<optim::Schedule> make_schedule(const plan::RunPlan& plan) {
  return optim::make_schedule(plan.schedule.name,
                              {.base_rate = plan.optimizer.learning_rate,
                               .warmup_steps = plan.schedule.warmup_steps,
                               .total_steps = plan.steps.max_steps},
                              plan.schedule.options);
}

optim::GradientScaler make_scaler(const plan::RunPlan& plan, at::Device device) {
  const plan::LossScalePlan& scale = plan.precision.loss_scale;
  return optim::GradientScaler({.initial = scale.initial,
                                .dynamic = scale.dynamic,
                                .growth_interval = scale.growth_interval,
                                .hysteresis = scale.hysteresis,
                                .refill = scale.refill,
                                .minimum = scale.minimum},
                               plan.precision.gradient_scaler ? device : at::Device(at::kCPU));
}

}  // namespace hftrain::trainer
