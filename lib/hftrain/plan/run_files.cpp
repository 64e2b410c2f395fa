// Which splits of a data set a run takes.
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/dataset_files.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDatasetFlag = "--dataset_name ";

std::string names_of(const std::vector<DatasetSplit>& splits) {
  std::vector<std::string> names;
  for (const DatasetSplit& split : splits) names.push_back(split.name);
  return join(names, ", ");
}

// What a run calls its splits in a data set.
struct SplitNames {
  std::string train = "train", validation = "validation";
  std::string suffix;  // of GLUE's MNLI, which has two sets of each
};

SplitNames split_names(const arguments::ParseOutcome& parsed) {
  const arguments::Arguments& arguments = parsed.arguments;
  if (task_row(parsed).task == tasks::Task::kInstructionTuning)
    return {arguments.instructions.dataset_train_split, arguments.instructions.dataset_test_split, ""};
  const auto& task = arguments.data.task_name;
  return {.suffix = task && to_lower(*task) == "mnli" ? "_matched" : ""};
}

// What a run writes there would be its data.
void refuse_own_folder(const arguments::ParseOutcome& parsed) {
  const std::string& named = *parsed.arguments.data.dataset_name;
  std::error_code ignored;
  if (!parsed.arguments.output.output_dir ||
      !fs::equivalent(named, *parsed.arguments.output.output_dir, ignored))
    return;
  throw Error(ExitCode::kUsage, "the output folder is the folder of the data set")
      .where(kDatasetFlag + named)
      .why("what the run writes would be taken for data when it goes on")
      .hint("--output_dir " + named + "/run, or a folder elsewhere");
}

// The files of a split of that name; none when it is not there.
std::vector<std::string> files_named(const std::vector<DatasetSplit>& splits, const std::string& name) {
  for (const DatasetSplit& split : splits) {
    if (split.name == name) return split.files;
  }
  return {};
}

void require_splits(const arguments::ParseOutcome& parsed, const std::vector<DatasetSplit>& splits,
                    const SplitNames& names, const NamedFiles& files) {
  const auto need = [&](const std::vector<std::string>& found, const std::string& name, const char* what) {
    if (found.empty())
      throw Error(ExitCode::kData, "the data set has no split '" + name + "'")
          .where(kDatasetFlag + *parsed.arguments.data.dataset_name)
          .why(std::string(what) + " needs it; the splits are " + names_of(splits))
          .hint("name its files by --train_file and --validation_file");
  };
  const bool named = task_row(parsed).task == tasks::Task::kInstructionTuning &&
                     parsed.origins.is_given("dataset_test_split");
  if (named && wants_validation(parsed)) need(files.validation, names.validation, "--dataset_test_split");
  if (wants_training(parsed) || (wants_validation(parsed) && files.validation.empty()))
    need(files.train, names.train, wants_training(parsed) ? "training" : "evaluation without a split for it");
  if (parsed.arguments.run.do_predict) need(files.test, "test", "do_predict");
}

// What the user should know of where the data lie and what is done for want of a split.
std::vector<Diagnostic> notes_of_data_set(const arguments::ParseOutcome& parsed,
                                          const Environment& environment,
                                          const std::vector<DatasetSplit>& splits, const SplitNames& names,
                                          const NamedFiles& files) {
  std::vector<Diagnostic> notes;
  const std::string& named = *parsed.arguments.data.dataset_name;
  const std::string variable = hub_cache_variable(environment);
  std::error_code ignored;
  if (!fs::is_directory(named, ignored) && !parsed.arguments.model.cache_dir && !variable.empty() &&
      parsed.exported_environment.count(variable) == 0)
    notes.push_back(note(variable + '=' + environment.get_or(variable, "") +
                         " of the environment says where data sets lie"));
  if (wants_validation(parsed) && files.validation.empty())
    notes.push_back(note("the data set has no split '" + names.validation + "': rows of '" + names.train +
                             "' are held out to judge by",
                         "its splits are " + names_of(splits)));
  return notes;
}

}  // namespace

NamedFiles files_of_run(const arguments::ParseOutcome& parsed, const Environment& environment) {
  const arguments::Arguments& arguments = parsed.arguments;
  const arguments::DataArguments& data = arguments.data;
  if (!data.dataset_name)
    return {data.train_file, data.validation_file, data.test_file, data.validation_mismatched_file,
            data.test_mismatched_file};
  refuse_own_folder(parsed);
  const std::string cache = hub_cache_folder(arguments.model.cache_dir, environment);
  const std::vector<DatasetSplit> splits =
      dataset_splits(*data.dataset_name, data.dataset_config_name, cache);
  const SplitNames names = split_names(parsed);
  NamedFiles files = {files_named(splits, names.train), files_named(splits, names.validation + names.suffix),
                      files_named(splits, "test" + names.suffix)};
  if (!names.suffix.empty()) {
    files.validation_mismatched = files_named(splits, "validation_mismatched");
    files.test_mismatched = files_named(splits, "test_mismatched");
  }
  if (files.validation.empty()) files.validation = files_named(splits, names.validation);
  if (files.test.empty()) files.test = files_named(splits, "test");
  require_splits(parsed, splits, names, files);
  files.notes = notes_of_data_set(parsed, environment, splits, names, files);
  return files;
}

}  // namespace hftrain::plan
