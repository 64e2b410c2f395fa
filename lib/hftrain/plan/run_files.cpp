// Which splits of a data set a run takes.
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/dataset_files.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/tasks/glue_task.h"

namespace hftrain::plan {
namespace {

namespace fs = std::filesystem;

// Where the data set was named.
std::string place_of_name(const arguments::ParseOutcome& parsed) {
  const arguments::DataArguments& data = parsed.arguments.data;
  return parsed.origins.filled_in_by("dataset_name").empty() ? "--dataset_name " + *data.dataset_name
                                                             : "--task_name " + *data.task_name;
}

std::string names_of(const DatasetFiles& found) {
  std::vector<std::string> names;
  for (const data::SplitFiles& split : found.splits) names.push_back(split.split);
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

DatasetFiles find_dataset_of(const arguments::ParseOutcome& parsed, const std::string& cache) {
  const arguments::DataArguments& data = parsed.arguments.data;
  try {
    return find_dataset(*data.dataset_name, data.dataset_config_name, cache, place_of_name(parsed));
  } catch (Error& error) {
    // Advice for a data set that the user named is none for one that --task_name stands for.
    if (!parsed.origins.filled_in_by("dataset_name").empty())
      error.hint("hftrain fetch --dataset " + *data.dataset_name +
                 ", or --train_file FILE… for data of your own");
    throw;
  }
}

// What a run writes there would be its data.
void refuse_own_folder(const arguments::ParseOutcome& parsed) {
  const std::string& named = *parsed.arguments.data.dataset_name;
  std::error_code ignored;
  if (!parsed.arguments.output.output_dir ||
      !fs::equivalent(named, *parsed.arguments.output.output_dir, ignored))
    return;
  throw Error(ExitCode::kUsage, "the output folder is the folder of the data set")
      .where(place_of_name(parsed))
      .why("what the run writes would be taken for data when it goes on")
      .hint("--output_dir " + named + "/run, or a folder elsewhere");
}

// The files of a split of that name; none when it is not there.
std::vector<std::string> files_named(const DatasetFiles& found, const std::string& name) {
  for (const data::SplitFiles& split : found.splits) {
    if (split.split == name) return paths_of_split(found, split);
  }
  return {};
}

// Whether rows are read to train on, or to be held out of.
bool takes_training_rows(const arguments::ParseOutcome& parsed, const NamedFiles& files) {
  return wants_training(parsed) || (wants_validation(parsed) && files.validation.empty());
}

void require_splits(const arguments::ParseOutcome& parsed, const DatasetFiles& found, const SplitNames& names,
                    const NamedFiles& files) {
  const auto need = [&](const std::vector<std::string>& paths, const std::string& name, const char* what) {
    if (paths.empty())
      throw Error(ExitCode::kData, "the data set has no split '" + name + "'")
          .where(place_of_name(parsed))
          .why(std::string(what) + " needs it; the splits are " + names_of(found))
          .hint("name its files by --train_file and --validation_file");
  };
  const bool named = task_row(parsed).task == tasks::Task::kInstructionTuning &&
                     parsed.origins.is_given("dataset_test_split") &&
                     parsed.origins.is_chosen("dataset_test_split");
  if (named && wants_validation(parsed)) need(files.validation, names.validation, "--dataset_test_split");
  if (takes_training_rows(parsed, files))
    need(files.train, names.train, wants_training(parsed) ? "training" : "evaluation without a split for it");
  if (parsed.arguments.run.do_predict) need(files.test, "test", "do_predict");
}

// Of those alone that the run reads: who evaluates needs no part of what was trained on.
void require_whole_splits(const arguments::ParseOutcome& parsed, const DatasetFiles& found,
                          const SplitNames& names, const NamedFiles& files) {
  const arguments::RunArguments& run = parsed.arguments.run;
  const auto first = [&](const std::string& name) {
    require_whole(found, files_named(found, name + names.suffix).empty() ? name : name + names.suffix);
  };
  if (takes_training_rows(parsed, files)) require_whole(found, names.train);
  if (wants_validation(parsed)) first(names.validation);
  if (run.do_predict) first("test");
  if (names.suffix.empty()) return;
  if (run.do_eval) require_whole(found, "validation_mismatched");
  if (run.do_predict) require_whole(found, "test_mismatched");
}

// What the user should know of where the data lie and what is done for want of a split.
std::vector<Diagnostic> notes_of_data_set(const arguments::ParseOutcome& parsed,
                                          const Environment& environment, const DatasetFiles& found,
                                          const SplitNames& names, const NamedFiles& files) {
  std::vector<Diagnostic> notes;
  const std::string& named = *parsed.arguments.data.dataset_name;
  const std::string variable = hub_cache_variable(environment);
  if (!is_folder(named) && !parsed.arguments.model.cache_dir && !variable.empty() &&
      parsed.exported_environment.count(variable) == 0)
    notes.push_back(note(variable + '=' + environment.get_or(variable, "") +
                         " of the environment says where data sets lie"));
  if (wants_validation(parsed) && files.validation.empty())
    notes.push_back(note("the data set has no split '" + names.validation + "': rows of '" + names.train +
                             "' are held out to judge by",
                         "its splits are " + names_of(found)));
  return notes;
}

}  // namespace

NamedFiles files_of_run(const arguments::ParseOutcome& parsed, const Environment& environment) {
  const arguments::Arguments& arguments = parsed.arguments;
  const arguments::DataArguments& data = arguments.data;
  if (!data.dataset_name)
    return {data.train_file, data.validation_file, data.test_file, data.validation_mismatched_file,
            data.test_mismatched_file};
  if (task_row(parsed).task == tasks::Task::kTextClassification && data.task_name)
    tasks::glue_task_named(*data.task_name);  // before data of that name are looked for
  refuse_own_folder(parsed);
  const std::string cache = hub_cache_folder(arguments.model.cache_dir, environment);
  const DatasetFiles found = find_dataset_of(parsed, cache);
  const SplitNames names = split_names(parsed);
  NamedFiles files = {files_named(found, names.train), files_named(found, names.validation + names.suffix),
                      files_named(found, "test" + names.suffix)};
  if (!names.suffix.empty()) {
    files.validation_mismatched = files_named(found, "validation_mismatched");
    files.test_mismatched = files_named(found, "test_mismatched");
  }
  if (files.validation.empty()) files.validation = files_named(found, names.validation);
  if (files.test.empty()) files.test = files_named(found, "test");
  require_splits(parsed, found, names, files);
  require_whole_splits(parsed, found, names, files);
  files.notes = notes_of_data_set(parsed, environment, found, names, files);
  return files;
}

}  // namespace hftrain::plan
