#include "hftrain/trainer/run_card.h"

#include <torch/version.h>

#include <filesystem>

#include "hftrain/reporting/model_card.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::trainer {

std::string run_card(const plan::RunPlan& plan, const reporting::LogHistory& history) {
  namespace fs = std::filesystem;
  reporting::ModelCard card;
  card.model_name = fs::path(plan.output_dir).filename().string();
  if (!plan.model.source_folder.empty())
    card.base_model = fs::path(plan.model.source_folder).filename().string();
  card.pipeline_tag = tasks::row_of(plan.data.task).pipeline;
  const plan::OptimizerPlan& optimizer = plan.optimizer;
  const auto number = [](double value) { return reporting::python_repr(value); };
  card.hyperparameters = {
      {"learning_rate", number(optimizer.learning_rate)},
      {"train_batch_size", std::to_string(plan.batch.per_device_train)},
      {"eval_batch_size", std::to_string(plan.batch.per_device_eval)},
      {"seed", std::to_string(plan.seed)},
      {"num_devices", std::to_string(plan.ranks.world_size)},
      {"gradient_accumulation_steps", std::to_string(plan.batch.accumulation_steps)},
      {"total_train_batch_size", std::to_string(plan.batch.global_train)},
      {"optimizer", optimizer.name + " with betas=(" + number(optimizer.beta1) + ", " +
                        number(optimizer.beta2) + ") and epsilon=" + number(optimizer.epsilon)},
      {"lr_scheduler_type", plan.schedule.name},
      {"lr_scheduler_warmup_steps", std::to_string(plan.schedule.warmup_steps)},
      {"training_steps", std::to_string(plan.steps.max_steps)},
      {"compute_dtype", plan.precision.compute},
  };
  card.versions = {{"hftrain", plan.hftrain_version}, {"LibTorch", TORCH_VERSION}};
  return reporting::render_model_card(card, history.records());
}

}  // namespace hftrain::trainer
