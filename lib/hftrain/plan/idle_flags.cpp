#include <algorithm>
#include <string>

#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

using Severity = Diagnostic::Severity;

struct IdleFlag {
  const char* flag;
  Severity severity;
  bool (*idle)(const ResolveInput& input, const RunPlan& plan);  // of a flag that was chosen
  std::string (*why)(const ResolveInput& input, const RunPlan& plan);
  const char* hint;
  const char* key = "";  // of a flag that is a mapping: what of it is idle
};

bool of_images(const ResolveInput&, const RunPlan& plan) {
  return plan.data.preprocessor.has_value();
}

// A program of the user's may judge by itself, and have an order of its own.
bool is_of_program(const ResolveInput& input) {
  return input.parsed.arguments.launch.worker_program.has_value();
}

bool judges(const RunPlan& plan) {
  return plan.do_eval || plan.do_predict || plan.evaluation.on_start;
}

// Of what is asked of metrics, where evaluation gives the loss alone.
bool asks_in_vain(const ResolveInput& input, const RunPlan& plan) {
  const bool told = input.parsed.arguments.evaluation.prediction_loss_only;  // by arguments/rules
  return judges(plan) && !told && !is_of_program(input) && !gives_metrics(input);
}

std::string why_in_vain(const ResolveInput& input, const RunPlan&) {
  return "evaluation of --task " + std::string(task_row(input.parsed).name) + " gives the loss alone here";
}

bool opens_snapshots(const ModelFacts& model) {
  const auto paths = {&model.source_folder, &model.adapter_folder, &model.tokenizer_folder,
                      &model.preprocessor_origin, &model.generation_config_origin};
  return std::ranges::any_of(paths, [](const std::string* path) { return is_snapshot(*path); });
}

// What is loaded says by itself of which kind it is.
bool is_of_another_type(const ResolveInput& input, const RunPlan&) {
  const arguments::ModelArguments& model = input.parsed.arguments.model;
  return (model.model_name_or_path || model.config_name) &&
         model.model_type != input.model.architecture->model_type();
}

// Of which a plan says all; a stream's has a word of its own.
bool orders_samples(const ResolveInput& input, const RunPlan& plan) {
  return plan.do_train && !plan.data.stream && !is_of_program(input);
}

// The order of the training data, that of evaluations which are grouped too, what is hidden and how images are cut.
bool draws_from_data_seed(const RunPlan& plan) {
  const DataPlan& data = plan.data;
  const bool drawn = data.draws_order(plan.ranks.world_size);
  const bool grouped = data.sampling == "group_by_length" && (!drawn || judges(plan));
  return (data.sampling == "random" && !drawn) || grouped || data.sampling == "sortish" || data.masking ||
         data.preprocessor;
}

bool draws_no_order(const ResolveInput& input, const RunPlan& plan) {
  return orders_samples(input, plan) && !plan.data.seedable_sampler &&
         !plan.data.draws_order(plan.ranks.world_size);
}

std::string why_none_is_drawn(const ResolveInput&, const RunPlan& plan) {
  return plan.data.sampling == "group_by_length"
             ? "on one rank the order of group_by_length comes from data_seed and the epoch all the same"
             : "the order " + plan.data.sampling + " is not drawn from the random numbers of the run";
}

constexpr IdleFlag kIdleFlags[] = {
    {"validation_split_percentage", Severity::kWarning, of_images,
     [](const ResolveInput&, const RunPlan&) {
       return std::string("the share of the training images that is held out is train_val_split");
     },
     "--train_val_split SHARE"},
    {"tokenizer_name", Severity::kNote, of_images,
     [](const ResolveInput&, const RunPlan&) { return std::string("there are images, and no text"); },
     "leave it out"},
    {"model_type", Severity::kWarning, is_of_another_type,
     [](const ResolveInput& input, const RunPlan&) {
       const arguments::ModelArguments& model = input.parsed.arguments.model;
       return "the config of " + model.config_name.value_or(input.model.source_folder) + " says " +
              input.model.architecture->model_type();
     },
     "leave it out; it is for training from scratch"},
    {"model_revision", Severity::kWarning,
     [](const ResolveInput& input, const RunPlan&) {
       const arguments::ModelArguments& model = input.parsed.arguments.model;
       // A chat's template may be of the Hub, too.
       return model.model_revision != "main" && !model.config_name &&
              !input.parsed.arguments.instructions.chat_template_path && !opens_snapshots(input.model);
     },
     [](const ResolveInput&, const RunPlan&) {
       return std::string("it chooses among the snapshots of a name on the Hub, and folders are named");
     },
     "the name on the Hub, or leave it out"},
    {"data_seed", Severity::kNote,
     [](const ResolveInput& input, const RunPlan& plan) {
       return orders_samples(input, plan) && !draws_from_data_seed(plan);
     },
     [](const ResolveInput&, const RunPlan& plan) {
       return plan.data.draws_order(plan.ranks.world_size)
                  ? std::string("use_seedable_sampler is false: the order is drawn from seed")
                  : "the order " + plan.data.sampling + " does not go by it";
     },
     "--seed, or leave it out"},
    {"accelerator_config", Severity::kNote, draws_no_order, why_none_is_drawn, "leave it out",
     ".use_seedable_sampler"},
    {"include_for_metrics", Severity::kWarning, asks_in_vain, why_in_vain,
     "--predict_with_generate, or leave it out"},
    {"batch_eval_metrics", Severity::kWarning, asks_in_vain, why_in_vain,
     "--predict_with_generate, or leave it out"},
};

}  // namespace

void note_idle_flags(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  for (const IdleFlag& row : kIdleFlags) {
    if (!input.parsed.origins.is_chosen(row.flag) || !row.idle(input, plan)) continue;
    notes.push_back({row.severity, std::string(row.flag) + row.key + " has no effect",
                     input.parsed.origins.describe(row.flag), row.why(input, plan), row.hint});
  }
}

}  // namespace hftrain::plan
