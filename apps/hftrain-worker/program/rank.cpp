#include "program/rank.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/arguments/compat.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/log_level.h"
#include "hftrain/base/text.h"
#include "hftrain/models/batch.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/tasks/scorer.h"
#include "hftrain/tasks/task_description.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/plugin.h"
#include "hftrain/trainer/plugin_callback.h"
#include "hftrain/trainer/plugin_loss.h"
#include "program/columns.h"
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

// Labels lie beside the outputs that they are of, number for number.
bool alike(const at::Tensor& own, const at::Tensor& kept) {
  if (!kept.defined() || !own.defined()) return own.defined() == kept.defined();
  const bool ids = kept.scalar_type() == at::kLong;
  return own.sizes() == kept.sizes() &&
         (ids ? own.scalar_type() == at::kLong : at::isFloatingType(own.scalar_type()));
}

// "Long [2, 16]".
std::string form_of(const at::Tensor& output) {
  if (!output.defined()) return "none";
  return std::string(c10::toString(output.scalar_type())) + ' ' + sizes_text(output);
}

// A rate that is none would end in the parameters.
double finite_factor(const Schedule& schedule, int64_t updates) {
  const double factor = schedule(updates);
  if (!std::isfinite(factor))
    throw std::runtime_error("its factor behind " + std::to_string(updates) + " updates is " +
                             std::to_string(factor));
  return factor;
}

// Who gives a number the name of another one that is told beside it would lose one of the two.
void check_name(const std::string& name, bool taken, const std::string& teller) {
  if (name.empty()) throw std::runtime_error("it gives a metric without a name");
  if (taken)
    throw std::runtime_error("it gives '" + name + "' twice, or in the place of what " + teller +
                             " tells of itself");
}

// A program's loss stands in the place of the model's, as with the Trainer.
plugin::Metrics once_each(plugin::Metrics metrics) {
  std::set<std::string> names;
  for (const auto& [name, value] : metrics) {
    const bool of_evaluation = name != "loss" && tasks::is_evaluation_record(name);
    check_name(name, !names.insert(name).second || of_evaluation, "evaluation");
  }
  return metrics;
}

// Of two numbers for one metric the later one counts, as in a dictionary: that is how a program changes one.
void check_names_of_record(const plugin::Metrics& metrics) {
  for (const auto& [name, value] : metrics)
    check_name(name, std::ranges::count(reporting::kRecordPlaces, name) > 0, "each record");
}

Error refusal_of(const std::string& why, const std::string& hint) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  return Error(ExitCode::kUsage, part.whole + " cannot be used").where(part.path).why(why).hint(hint);
}

// Of those flags the ones whose values are not what a run has that says nothing, an older release of --hf_compat among it.
std::vector<std::string> given_of(const plan::RunPlan& plan, std::initializer_list<const char*> flags) {
  const Json arguments = parse_json(plan.logging.arguments_json, "the arguments of the plan");
  std::vector<std::string> given;
  for (const char* flag : flags) {
    const Json value = arguments.value(flag, Json());
    const bool of_decay_alone = flag == std::string_view("optim_args") && plan.optimizer.options.empty();
    if (value.is_null() || of_decay_alone || value == arguments::default_in(flag, plan.release)) continue;
    given.push_back("--" + std::string(flag) + ' ' +
                    (value.is_string() ? value.get<std::string>() : dump_json(value, -1)));
  }
  return given;
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
  if (overridden.compute_metrics && judges && head() == architectures::Head::kSeq2SeqLm)
    throw refusal_of(
        "of texts nothing is kept without --predict_with_generate, and with --prediction_loss_only, and "
        "compute_metrics judges outputs",
        "--predict_with_generate, and --prediction_loss_only left out");
  if (overridden.compute_metrics && judges)
    throw refusal_of("--prediction_loss_only keeps nothing of the outputs, and compute_metrics judges them",
                     "leave the flag out");
  if (overridden.compute_metrics && parts.plan.evaluation.shows_running_metrics)
    throw refusal_of(
        "--batch_eval_metrics judges what one rank has so far, and compute_metrics judges a whole split",
        "leave the flag out");
  if (overridden.prediction_step && !parts.plan.evaluation.generation.is_null())
    throw refusal_of("--predict_with_generate keeps texts that are written beside prediction_step",
                     "leave the flag out, or judge the losses alone in a Trainer without prediction_step");
  if (overridden.get_train_dataloader && data.dispatch_batches && !data.stream)
    throw refusal_of(
        "the accelerator_config dispatch_batches lets rank 0 read for all, and a data loader gives the "
        "batches of its rank",
        "leave dispatch_batches out");
  const bool optimizes = overridden.create_optimizer || given_.optimizer;
  if (optimizes && parts.plan.strategy.offload_optimizer == "nvme")
    throw refusal_of("the state of an optimizer of one's own is not kept on NVMe",
                     "--offload_optimizer_device cpu, or none");
  if (optimizes && parts.plan.do_train && parts.plan.saving.for_trainer)
    throw refusal_of(
        "--save_for_trainer writes the state of AdamW, and the program has an optimizer of its own",
        "leave --save_for_trainer out");
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
  const models::Batch batch = batch_of(inputs, head());
  require_labels(batch, head());
  return (*compute_)(batch);
}

Prediction Rank::forward(const Batch& inputs) {
  if (predict_ == nullptr) throw std::logic_error("prediction_step is called by the run");
  const models::Batch batch = batch_of(inputs, head());
  require_labels_of(*predicted_, batch);
  trainer::Prediction made = (*predict_)(batch);
  return {.loss = std::move(made.loss), .output = std::move(made.output)};
}

trainer::Prediction Rank::own_prediction(const models::Batch& columns, const trainer::Predict& predict) {
  std::optional<trainer::Prediction> kept;
  const trainer::Predict noted = [&](const models::Batch& given) {
    trainer::Prediction made = predict(given);
    kept = made;
    return made;
  };
  predict_ = &noted;
  predicted_ = &columns;
  Prediction own = own_->prediction_step(columns_of(columns));
  predict_ = nullptr;
  predicted_ = nullptr;
  if (!kept) throw std::runtime_error("it does not call that of Trainer");
  if (kept->loss.defined()) trainer::check_loss(own.loss);
  if (!alike(own.output, kept->output))
    throw std::runtime_error("its output is " + form_of(own.output) + ", and that of Trainer is " +
                             form_of(kept->output) + ": the shape stays, and ids stay ids");
  return {.loss = std::move(own.loss), .output = std::move(own.output)};
}

void Rank::add_methods(trainer::Extensions& extensions) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  if (overridden.compute_loss)
    extensions.loss = trainer::plugin_loss(
        part, [this](const plugin::LossInput& input) { return own_->compute_loss(input); }, "compute_loss");
  if (overridden.training_step)
    extensions.training_step = [this, part](const models::Batch& columns,
                                            const trainer::ForwardBackward& compute) {
      return part.call("training_step", [&] { return own_step(columns, compute); });
    };
  if (overridden.log)
    extensions.edit_record = [this, part](Json& record) {
      const plugin::Metrics shown = trainer::numbers_of(record);
      plugin::Metrics changed = shown;
      part.call("log", [&] {
        own_->log(changed);
        check_names_of_record(changed);
      });
      take_numbers(record, shown, changed);
    };
  if (overridden.prediction_step)
    extensions.prediction_step = [this, part](const models::Batch& columns, const trainer::Predict& predict) {
      return part.call("prediction_step", [&] { return own_prediction(columns, predict); });
    };
  if (overridden.compute_metrics)
    extensions.metrics = [this, part](const trainer::JudgedOutputs& all) {
      return part.call("compute_metrics", [&] {
        return once_each(own_->compute_metrics({.predictions = all.predictions, .labels = all.labels}));
      });
    };
}

architectures::Head Rank::head() const {
  return tasks::row_of(parts.plan.data.task).head;
}

std::unique_ptr<DataLoader> Rank::loader_of_run() {
  if (!of_run_) throw std::logic_error("data loaders are asked for by the run, each once");
  return std::move(of_run_);
}

void Rank::add_loaders(trainer::Extensions& extensions) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  const auto maker = [this, part](const char* doing, std::unique_ptr<DataLoader> (Trainer::*get)(),
                                  bool training) {
    return [doing, part,
            make = own_loader(part, [this, get] { return (own_->*get)(); }, of_run_, {head(), training})](
               std::unique_ptr<trainer::OwnLoader> of_run) {
      return part.call(doing, [&] { return make(std::move(of_run)); });
    };
  };
  if (overridden.get_train_dataloader)
    extensions.loaders.train = maker("get_train_dataloader", &Trainer::get_train_dataloader, true);
  if (overridden.get_eval_dataloader)
    extensions.loaders.evaluation = maker("get_eval_dataloader", &Trainer::get_eval_dataloader, false);
  if (overridden.get_test_dataloader)
    extensions.loaders.test = maker("get_test_dataloader", &Trainer::get_test_dataloader, false);
}

void Rank::check_losses(const trainer::Extensions& of_plugin) const {
  if (overridden.compute_loss && of_plugin.loss)
    throw refusal_of("compute_loss and the loss of --plugin each stand in the place of the model's own",
                     "leave one of them out");
  if (overridden.compute_metrics && of_plugin.metrics)
    throw refusal_of("compute_metrics and the metrics of --plugin each judge the outputs of this task",
                     "leave one of them out");
}

// Somebody who has forgotten to return what was made sees it.
void Rank::say_none(const std::string& method, bool passed_in) const {
  if (run.rank != 0) return;
  parts.events.message(LogLevel::kInfo,
                       method + " of " + part_of_program(kTrainer).whole + " makes none: it is " +
                           (passed_in ? "the one that was passed in" : "the one of the flags"));
}

// Whether the program looks for them itself nobody knows.
void Rank::say_idle(std::initializer_list<const char*> flags, const std::string& what) const {
  const std::vector<std::string> given = given_of(parts.plan, flags);
  if (run.rank != 0 || !parts.plan.do_train || given.empty()) return;
  const bool one = given.size() == 1;
  parts.events.message(LogLevel::kInfo, join(given, ", ") + (one ? " has" : " have") +
                                            " no effect but what the program reads of " +
                                            (one ? "it" : "them") + " in about_run().arguments: the " + what +
                                            " is that of " + part_of_program(kTrainer).whole);
}

// A program's optimizer is handed the rate alone.
void Rank::say_still_momentum() const {
  const plan::SchedulePlan& schedule = parts.plan.schedule;
  if (run.rank != 0 || schedule.name != "OneCycle" || !schedule.options.value("cycle_momentum", true)) return;
  parts.events.message(LogLevel::kWarning,
                       "OneCycle: the momentum does not cycle, for the optimizer is that of " +
                           part_of_program(kTrainer).whole +
                           " and is told the rate alone; \"cycle_momentum\": false says so");
}

void Rank::add_optimizer(trainer::Extensions& extensions) {
  MakeOptimizer create = given_.optimizer;
  if (overridden.create_optimizer)
    create = [this](const std::vector<ParameterGroup>& groups) {
      std::unique_ptr<Optimizer> made = own_->create_optimizer(groups);
      if (!made) say_none("create_optimizer", given_.optimizer != nullptr);
      return made || !given_.optimizer ? std::move(made) : given_.optimizer(groups);
    };
  if (!create) return;
  const trainer::PluginPart part = part_of_program(kTrainer);
  extensions.make_optimizer =
      [this, part, own_schedule = extensions.rate_factor != nullptr,
       make = own_optimizer(part, std::move(create))](std::vector<optim::ParameterGroup> groups) {
        auto made = part.call("create_optimizer", [&] { return make(std::move(groups)); });
        if (made) say_idle({"optim", "optim_args", "adam_beta1", "adam_beta2", "adam_epsilon"}, "optimizer");
        if (made && !own_schedule) say_still_momentum();
        return made;
      };
}

void Rank::add_schedule(trainer::Extensions& extensions) {
  const trainer::PluginPart part = part_of_program(kTrainer);
  Schedule schedule;
  if (overridden.create_scheduler)
    schedule =
        part.call("create_scheduler", [&] { return own_->create_scheduler(parts.plan.steps.max_steps); });
  if (overridden.create_scheduler && !schedule) say_none("create_scheduler", given_.scheduler != nullptr);
  if (!schedule) schedule = given_.scheduler;
  if (!schedule) return;
  say_idle({"lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps"}, "schedule");
  extensions.rate_factor = [part, schedule = std::move(schedule)](int64_t updates) {
    return part.call("schedule", [&] { return finite_factor(schedule, updates); });
  };
}

std::shared_ptr<trainer::Trainer> Rank::open() {
  check_flags();
  trainer::Extensions extensions = trainer::load_plugin(parts.plan, parts.context);
  check_losses(extensions);
  add_callbacks(extensions);
  add_methods(extensions);
  add_loaders(extensions);
  extensions.program = part_of_program(kTrainer).whole;
  add_schedule(extensions);
  add_optimizer(extensions);
  if (extensions.whose.empty()) extensions.whose = extensions.program;
  return std::make_shared<trainer::Trainer>(parts.plan, parts.context, parts.communicator, parts.events,
                                            std::move(extensions));
}

}  // namespace hftrain
