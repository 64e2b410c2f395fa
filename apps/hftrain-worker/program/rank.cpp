#include "program/rank.h"

#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/models/batch.h"
#include "hftrain/tasks/scorer.h"
#include "hftrain/trainer/plugin.h"
#include "hftrain/trainer/plugin_callback.h"
#include "hftrain/trainer/plugin_loss.h"
#include "program/own_parts.h"

namespace hftrain {
namespace {

const char* const kTrainer = "its Trainer";

// Numbers that are new or changed are taken over, those that are gone are left out; all else stays as it is.
void take_numbers(Json& record, const plugin::Metrics& shown, const plugin::Metrics& changed) {
  std::set<std::string> kept;
  for (const auto& [name, value] : changed) {
    kept.insert(name);
    const bool same =
        record.contains(name) && record.at(name).is_number() && record.at(name).get<double>() == value;
    if (!same) record[name] = value;
  }
  for (const auto& [name, value] : shown) {
    if (kept.count(name) == 0) record.erase(name);
  }
}

Error refusal_of(const std::string& why, const std::string& hint) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  return Error(ExitCode::kUsage, part.whole + " cannot be used").where(part.path).why(why).hint(hint);
}

}  // namespace

trainer::PluginPart part_of_program(const std::string& name) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  return {"the program '" + std::filesystem::path(path).filename().string() + '\'', path, name};
}

Rank::Rank(const worker::RankParts& given, const Overridden& of_program)
    : parts(given), overridden(of_program), run(trainer::told_run(given.plan, given.context)) {}

void Rank::belong_to(Trainer& own, Optimizers given) {
  if (own_ != nullptr) throw std::logic_error("a run has one Trainer");
  own_ = &own;
  given_ = std::move(given);
}

// What would be accepted and ignored.
void Rank::check_flags() const {
  const bool smooths = parts.plan.optimizer.label_smoothing != 0;
  if (overridden.compute_loss && (smooths || parts.plan.optimizer.loss_by_probability))
    throw refusal_of(std::string(smooths ? "--label_smoothing_factor" : "--loss_type dft") +
                         " changes the model's own loss, and compute_loss stands in its place",
                     "leave the flag out, or do it in compute_loss");
  const plan::DataPlan& data = parts.plan.data;
  const bool judges =
      parts.plan.evaluation.outputs == tasks::OutputForm::kLossOnly && (data.validation || data.test);
  if (overridden.compute_metrics && judges)
    throw refusal_of("--prediction_loss_only keeps nothing of the outputs, and compute_metrics judges them",
                     "leave the flag out");
  const bool optimizes = overridden.create_optimizer || given_.optimizer;
  if (optimizes && parts.plan.strategy.offload_optimizer == "nvme")
    throw refusal_of("the state of an optimizer of one's own is not kept on NVMe",
                     "--offload_optimizer_device cpu, or none");
}

void Rank::add_callbacks(trainer::Extensions& extensions) {
  std::set<std::string> names = {"TrainerControl", "EarlyStoppingCallback"};
  for (const auto& callback : extensions.callbacks) names.insert(callback->state_name());
  for (auto& [name, callback] : callbacks) {
    if (name.empty() || !names.insert(name).second)
      throw refusal_of("a callback is called '" + name + "', and checkpoints keep states by names",
                       "a name of its own for each callback");
    extensions.callbacks.push_back(trainer::plugin_callback(part_of_program("the callback '" + name + '\''),
                                                            name, std::move(callback), parts.plan, run.rank));
  }
}

at::Tensor Rank::own_step(const models::Batch& columns, const trainer::ForwardBackward& compute) {
  compute_ = &compute;
  computed_ = 0;
  const at::Tensor loss = own_->training_step(columns_of(columns));
  compute_ = nullptr;
  if (computed_ != 1)
    throw std::runtime_error("it calls that of Trainer " + std::to_string(computed_) +
                             " times, and once is right");
  trainer::check_loss(loss);
  return loss.detach().reshape({});
}

at::Tensor Rank::forward_backward(const Batch& inputs) {
  if (compute_ == nullptr) throw std::logic_error("training_step is called by the run");
  if (++computed_ > 1) throw std::runtime_error("it calls that of Trainer twice, and once is right");
  return (*compute_)(batch_of(inputs));
}

Prediction Rank::forward(const Batch& inputs) {
  if (predict_ == nullptr) throw std::logic_error("prediction_step is called by the run");
  trainer::Prediction made = (*predict_)(batch_of(inputs));
  return {.loss = std::move(made.loss), .output = std::move(made.output)};
}

trainer::Prediction Rank::own_prediction(const models::Batch& columns, const trainer::Predict& predict) {
  at::Tensor kept;
  const trainer::Predict noted = [&](const models::Batch& given) {
    trainer::Prediction made = predict(given);
    kept = made.output;
    return made;
  };
  predict_ = &noted;
  Prediction own = own_->prediction_step(columns_of(columns));
  predict_ = nullptr;
  if (columns.labels.defined()) trainer::check_loss(own.loss);
  const bool alike =
      own.output.defined() == kept.defined() &&
      (!kept.defined() || (own.output.size(0) == kept.size(0) &&
                           (own.output.scalar_type() == at::kLong) == (kept.scalar_type() == at::kLong)));
  if (!alike) throw std::runtime_error("its output has other rows, or ids for scores, than that of Trainer");
  return {.loss = std::move(own.loss), .output = std::move(own.output)};
}

void Rank::add_methods(trainer::Extensions& extensions) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  if (overridden.compute_loss)
    extensions.loss = trainer::plugin_loss(
        part, [this](const plugin::LossInput& input) { return own_->compute_loss(input); });
  if (overridden.training_step)
    extensions.training_step = [this, part](const models::Batch& columns,
                                            const trainer::ForwardBackward& compute) {
      return part.call("training_step", [&] { return own_step(columns, compute); });
    };
  if (overridden.log)
    extensions.edit_record = [this, part](Json& record) {
      const plugin::Metrics shown = trainer::numbers_of(record);
      plugin::Metrics changed = shown;
      part.call("log", [&] { own_->log(changed); });
      take_numbers(record, shown, changed);
    };
  if (overridden.prediction_step)
    extensions.prediction_step = [this, part](const models::Batch& columns, const trainer::Predict& predict) {
      return part.call("prediction_step", [&] { return own_prediction(columns, predict); });
    };
  if (overridden.compute_metrics)
    extensions.metrics = [this, part](const trainer::JudgedOutputs& all) {
      return part.call("compute_metrics", [&] {
        return own_->compute_metrics({.predictions = all.predictions, .labels = all.labels});
      });
    };
}

std::unique_ptr<DataLoader> Rank::loader_of_run() {
  if (!of_run_) throw std::logic_error("data loaders are asked for by the run, each once");
  return std::move(of_run_);
}

void Rank::add_loaders(trainer::Extensions& extensions) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  const auto maker = [this, part](const char* doing, std::unique_ptr<DataLoader> (Trainer::*get)()) {
    return [doing, part,
            make = own_loader(
                part, [this, get] { return (own_->*get)(); }, of_run_)](
               std::unique_ptr<trainer::OwnLoader> of_run) {
      return part.call(doing, [&] { return make(std::move(of_run)); });
    };
  };
  if (overridden.get_train_dataloader)
    extensions.loaders.train = maker("get_train_dataloader", &Trainer::get_train_dataloader);
  if (overridden.get_eval_dataloader)
    extensions.loaders.evaluation = maker("get_eval_dataloader", &Trainer::get_eval_dataloader);
  if (overridden.get_test_dataloader)
    extensions.loaders.test = maker("get_test_dataloader", &Trainer::get_test_dataloader);
}

void Rank::add_optimizers(trainer::Extensions& extensions) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  MakeOptimizer create = given_.optimizer;
  if (overridden.create_optimizer)
    create = [this](const std::vector<ParameterGroup>& groups) { return own_->create_optimizer(groups); };
  if (create)
    extensions.make_optimizer =
        [part, make = own_optimizer(std::move(create))](std::vector<optim::ParameterGroup> groups) {
          return part.call("create_optimizer", [&] { return make(std::move(groups)); });
        };
  extensions.rate_factor = given_.scheduler;
  if (overridden.create_scheduler)
    extensions.rate_factor =
        part.call("create_scheduler", [&] { return own_->create_scheduler(parts.plan.steps.max_steps); });
}

std::shared_ptr<trainer::Trainer> Rank::open() {
  check_flags();
  trainer::Extensions extensions = trainer::load_plugin(parts.plan, parts.context);
  add_callbacks(extensions);
  add_methods(extensions);
  add_loaders(extensions);
  add_optimizers(extensions);
  if (extensions.whose.empty()) extensions.whose = part_of_program(kTrainer).whole;
  return std::make_shared<trainer::Trainer>(parts.plan, parts.context, parts.communicator, parts.events,
                                            std::move(extensions));
}

}  // namespace hftrain
