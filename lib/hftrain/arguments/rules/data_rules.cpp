// The model and the data: what has to be named, and what names the same thing twice.
#include <string>
#include <vector>

#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"
#include "hftrain/arguments/rules/script_defaults.h"

namespace hftrain::arguments {
namespace {

bool names_no_model(Outcome o) {
  const ModelArguments& model = o.arguments.model;
  return !o.arguments.interface.smoke && !model.model_name_or_path && !model.model_type && !model.config_name;
}

bool classifies_images(Outcome o) {
  return o.arguments.run.task == "image-classification";
}

const Rule kDataRules[] = {
    {"E1",
     Severity::kError,
     {"config_overrides", "config_name", "model_name_or_path"},
     [](Outcome o) {
       const ModelArguments& model = o.arguments.model;
       return model.config_overrides && (model.config_name || model.model_name_or_path);
     },
     "config_overrides is for training from scratch",
     "the configuration comes from config_name or model_name_or_path here",
     "leave one of them out"},
    {"E2",
     Severity::kError,
     {"train_file"},
     [](Outcome o) {
       return training(o) && !o.arguments.interface.smoke && o.arguments.data.train_file.empty() &&
              !o.arguments.data.dataset_name;
     },
     "there is no training data",
     "neither train_file nor dataset_name was given",
     "--train_file FILE…, of images --train_dir FOLDER, or --dataset_name",
     true},
    {"H14",
     Severity::kError,
     {"dataset_name", "train_file", "validation_file", "test_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.dataset_name &&
              !(data.train_file.empty() && data.validation_file.empty() && data.test_file.empty() &&
                data.validation_mismatched_file.empty() && data.test_mismatched_file.empty());
     },
     "dataset_name and files both name the data",
     "",
     "leave one of them out"},
    {"H14",
     Severity::kError,
     {"dataset_config_name", "dataset_name"},
     [](Outcome o) { return o.arguments.data.dataset_config_name && !o.arguments.data.dataset_name; },
     "dataset_config_name is a configuration of a data set, and none is named",
     "",
     "--dataset_name, or leave it out"},
    {"H14",
     Severity::kError,
     {"train_dir", "train_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.train_dir && data.train_file != std::vector<std::string>{*data.train_dir};
     },
     "train_dir and train_file both name training data",
     "",
     "leave one of them out"},
    {"H14",
     Severity::kError,
     {"validation_dir", "validation_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.validation_dir && data.validation_file != std::vector<std::string>{*data.validation_dir};
     },
     "validation_dir and validation_file both name validation data",
     "",
     "leave one of them out"},
    {"H14",
     Severity::kError,
     {"data_dir", "train_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.data_dir && data.train_file != std::vector<std::string>{*data.data_dir + "/train.source"};
     },
     "data_dir and train_file both name training data",
     "",
     "leave one of them out"},
    {"T1",
     Severity::kError,
     {"eval_strategy", "validation_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return evaluating(o) && !o.arguments.interface.smoke && data.train_file.empty() &&
              data.validation_file.empty() && !data.dataset_name;
     },
     "there is no evaluation data",
     "",
     "--validation_file FILE…, or --train_file, of which a share is held out",
     true},
    {"H4",
     Severity::kError,
     {"do_predict", "test_file"},
     [](Outcome o) {
       return o.arguments.run.do_predict && !o.arguments.interface.smoke &&
              o.arguments.data.test_file.empty() && !o.arguments.data.dataset_name;
     },
     "do_predict needs test data",
     "",
     "--test_file FILE…",
     true},
    {"H5",
     Severity::kError,
     {"model_name_or_path", "model_type", "config_name"},
     [](Outcome o) { return names_no_model(o) && classifies_images(o); },
     "there is no model to classify images with",
     kTakenForImages,
     kNameForImages,
     true},
    {"H5",
     Severity::kError,
     {"model_name_or_path", "model_type", "config_name"},
     [](Outcome o) { return names_no_model(o) && !classifies_images(o); },
     "there is no model",
     "",
     "--model_name_or_path FOLDER, or --model_type FAMILY to train from scratch",
     true},
};

}  // namespace

std::span<const Rule> data_rules() {
  return kDataRules;
}

}  // namespace hftrain::arguments
