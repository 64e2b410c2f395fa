#include "hftrain/tasks/model_labels.h"

#include <string>

#include "hftrain/base/error.h"

namespace hftrain::tasks {
namespace {

bool names_training_data(const arguments::DataArguments& data) {
  return !data.train_file.empty() || data.dataset_name || data.train_dir || data.data_dir;
}

Error no_labels(const TaskInput& input) {
  const auto& folder = input.arguments.model.model_name_or_path;
  return Error(ExitCode::kData, "the model has no labels")
      .where(folder ? *folder + "/config.json" : "--model_name_or_path")
      .why(std::string("a run that does not train takes the labels of its model, ") +
           (input.has_head ? "whose names there do not have the numbers 0, 1, …"
                           : "which was not saved with the head of this task"))
      .hint("the folder of a model that was trained for this task, or train it with --do_train");
}

}  // namespace

std::optional<LabelSet> labels_of_model(const TaskInput& input) {
  if (input.trains) return std::nullopt;
  if (auto named = LabelSet::of_config(input.model_config)) return named;
  if (names_training_data(input.arguments.data)) return std::nullopt;
  auto counted = input.has_head ? LabelSet::counted_in(input.model_config) : std::nullopt;
  if (counted) return counted;
  throw no_labels(input);
}

void require_trained_head(const TaskInput& input) {
  if (input.trains || input.has_head || names_training_data(input.arguments.data)) return;
  throw no_labels(input);
}

}  // namespace hftrain::tasks
