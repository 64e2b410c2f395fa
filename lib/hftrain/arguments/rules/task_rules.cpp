// Flags of single tasks.
#include <optional>
#include <string>

#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

bool names_mnli(Outcome o) {
  const std::optional<std::string>& name = o.arguments.data.task_name;
  return name && to_lower(*name) == "mnli";
}

const Rule kTaskRules[] = {
    {"H15",
     Severity::kWarning,
     {"generation_max_length", "generation_num_beams", "num_beams"},
     [](Outcome o) {
       const auto& asked = o.arguments.evaluation;
       return !asked.predict_with_generate &&
              (asked.generation_max_length || asked.generation_num_beams || asked.num_beams);
     },
     "settings of generation have no effect",
     "evaluation generates text with predict_with_generate",
     "--predict_with_generate"},
    {"H16",
     Severity::kWarning,
     {"generation_num_beams", "num_beams"},
     [](Outcome o) {
       const auto& asked = o.arguments.evaluation;
       return asked.generation_num_beams && asked.num_beams && asked.generation_num_beams != asked.num_beams;
     },
     "generation_num_beams {generation_num_beams} wins over num_beams {num_beams}",
     "both say how many beams evaluation has",
     "one of them"},
    {"H17",
     Severity::kError,
     {"validation_mismatched_file", "test_mismatched_file", "task_name"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return !names_mnli(o) &&
              !(data.validation_mismatched_file.empty() && data.test_mismatched_file.empty());
     },
     "mismatched data are those of task_name mnli",
     "no other task has a second validation or test set",
     "--task_name mnli; or a run of its own with --validation_file or --test_file"},
    {"H18",
     Severity::kWarning,
     {"validation_mismatched_file", "do_eval"},
     [](Outcome o) { return !evaluating(o) && !o.arguments.data.validation_mismatched_file.empty(); },
     "validation_mismatched_file is not read",
     "the mismatched set is evaluated at the end, which do_eval asks for",
     "--do_eval"},
    {"H18",
     Severity::kWarning,
     {"test_mismatched_file", "do_predict"},
     [](Outcome o) { return !o.arguments.run.do_predict && !o.arguments.data.test_mismatched_file.empty(); },
     "test_mismatched_file is not read",
     "test data are for do_predict",
     "--do_predict"},
    {"H19",
     Severity::kNote,
     {"task_name", "validation_mismatched_file"},
     [](Outcome o) {
       return names_mnli(o) && evaluating(o) && !o.arguments.interface.smoke &&
              !o.arguments.data.dataset_name && o.arguments.data.validation_mismatched_file.empty();
     },
     "the matched validation set of mnli is evaluated alone",
     "the mismatched one was not named",
     "--validation_mismatched_file FILE…"},
    {"H19",
     Severity::kNote,
     {"task_name", "test_mismatched_file"},
     [](Outcome o) {
       return names_mnli(o) && o.arguments.run.do_predict && !o.arguments.interface.smoke &&
              !o.arguments.data.dataset_name && o.arguments.data.test_mismatched_file.empty();
     },
     "the matched test set of mnli is predicted alone",
     "the mismatched one was not named",
     "--test_mismatched_file FILE…"},
    {"H20",
     Severity::kWarning,
     {"dataset_train_split", "dataset_test_split", "dataset_name"},
     [](Outcome o) {
       const InstructionArguments& asked = o.arguments.instructions;
       return !o.arguments.data.dataset_name &&
              (asked.dataset_train_split != "train" || asked.dataset_test_split != "test");
     },
     "dataset_train_split and dataset_test_split have no effect",
     "they are splits of a data set, and files are named instead",
     "--train_file and --validation_file name the files; or --dataset_name"},
};

}  // namespace

std::span<const Rule> task_rules() {
  return kTaskRules;
}

}  // namespace hftrain::arguments
