#include "hftrain/trainer/run_card.h"

#include <torch/version.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/reporting/model_card.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::trainer {
namespace {

namespace fs = std::filesystem;

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string base_model(const plan::ModelPlan& model) {
  return model.hub_name.empty() ? fs::path(model.source_folder).filename().string() : model.hub_name;
}

// peft's, by which the Hub opens the folder beside its base.
void tell_adapter(const plan::ModelPlan& model, reporting::ModelCard& card) {
  card.library = "peft";
  if (!model.hub_name.empty()) card.tags.push_back("base_model:adapter:" + model.hub_name);
  card.tags.insert(card.tags.end(), {"lora", "transformers"});
}

void tell_dataset(const std::string& name, reporting::ModelCard& card) {
  const bool of_hub = plan::is_hub_name(name);
  card.dataset = of_hub ? name : fs::path(plan::without_slash(name)).filename().string();
  if (of_hub) card.datasets = {name};
}

// Which of the optimizers have betas is told by their names, as in the Trainer's card.
std::string optimizer_line(const plan::OptimizerPlan& optimizer) {
  const auto number = [](double value) { return reporting::python_repr(value); };
  std::vector<std::string> told;
  if (optimizer.name.find("adam") != std::string::npos) {
    told.push_back("betas=(" + number(optimizer.beta1) + ", " + number(optimizer.beta2) + ')');
    told.push_back("epsilon=" + number(optimizer.epsilon));
  }
  for (const auto& [key, value] : optimizer.options) told.push_back(key + '=' + value);
  return optimizer.name + (told.empty() ? "" : " with " + join(told, ", "));
}

// The flags about a part that a program made have had no effect.
Settings updates_told(const plan::RunPlan& plan, const MakersOfParts& makers) {
  const auto own = [](const std::string& maker) { return "that of " + maker; };
  Settings told = {
      {"optimizer", makers.optimizer.empty() ? optimizer_line(plan.optimizer) : own(makers.optimizer)}};
  if (!makers.schedule.empty()) {
    told.emplace_back("lr_scheduler_type", own(makers.schedule));
    return told;
  }
  told.emplace_back("lr_scheduler_type", plan.schedule.name);
  told.emplace_back("lr_scheduler_warmup_steps", std::to_string(plan.schedule.warmup_steps));
  return told;
}

// In the order of the Trainer's card.
Settings settings_told(const plan::RunPlan& plan, const MakersOfParts& makers) {
  const auto number = [](double value) { return reporting::python_repr(value); };
  Settings told = {
      {"learning_rate", number(plan.optimizer.learning_rate)},
      {"train_batch_size", std::to_string(plan.batch.per_device_train)},
      {"eval_batch_size", std::to_string(plan.batch.per_device_eval)},
      {"seed", std::to_string(plan.seed)},
      {"num_devices", std::to_string(plan.ranks.world_size)},
      {"gradient_accumulation_steps", std::to_string(plan.batch.accumulation_steps)},
      {"total_train_batch_size", std::to_string(plan.batch.global_train)},
  };
  for (auto& setting : updates_told(plan, makers)) told.push_back(std::move(setting));
  told.emplace_back("training_steps", std::to_string(plan.steps.max_steps));
  told.emplace_back("compute_dtype", plan.precision.compute);
  return told;
}

}  // namespace

std::string run_card(const plan::RunPlan& plan, const MakersOfParts& makers,
                     const reporting::LogHistory& history) {
  reporting::ModelCard card;
  const std::string& repository = plan.saving.repository;
  card.model_name = repository.empty() ? fs::path(plan.output_dir).filename().string() : repository;
  card.base_model = base_model(plan.model);
  card.base_of_hub = plan.model.hub_name;
  if (plan.model.adapter) tell_adapter(plan.model, card);
  tell_dataset(plan.data.dataset_name, card);
  card.pipeline_tag = tasks::row_of(plan.data.task).pipeline;
  card.hyperparameters = settings_told(plan, makers);
  card.versions = {{"hftrain", plan.hftrain_version}, {"LibTorch", TORCH_VERSION}};
  return reporting::render_model_card(card, history.records());
}

}  // namespace hftrain::trainer
