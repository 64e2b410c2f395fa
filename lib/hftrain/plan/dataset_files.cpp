#include "hftrain/plan/dataset_files.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/data/dataset_layout.h"
#include "hftrain/data/image_folder.h"
#include "hftrain/plan/dataset_card.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/resolve.h"

namespace hftrain::plan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFlag = "--dataset_name ";
constexpr const char* kOrFiles = "name its files by --train_file and --validation_file";

std::string parent(const std::string& path) {
  return fs::path(path).parent_path().string();
}

std::string last_name(const std::string& named) {
  return named.substr(named.rfind('/') + 1);
}

// Data sets that are not files to read: programs, and what save_to_disk wrote.
void refuse_other_kinds(const std::string& folder, const std::string& name) {
  const std::string script = folder + '/' + name + ".py";
  if (path_exists(script))
    throw Error(ExitCode::kData, "the data set is made by a program, which is not run")
        .where(script)
        .why("no code that comes with a data set is run here")
        .hint("write its rows to .parquet or .jsonl with the package datasets 3, and " +
              std::string(kOrFiles));
  for (const char* mark : {"/state.json", "/dataset_dict.json"}) {
    if (path_exists(folder + mark))
      throw Error(ExitCode::kData, "the data set was written by save_to_disk, which is not read")
          .where(folder + mark)
          .why("its rows lie in Arrow files")
          .hint("write them by to_parquet or to_json of the package datasets");
  }
}

std::string folder_of(const std::string& named, const std::string& cache) {
  std::error_code ignored;
  if (fs::is_directory(named, ignored)) {
    const fs::path folder = fs::absolute(named).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).string();
  }
  if (!is_hub_name(named))
    throw Error(ExitCode::kData, "the folder of the data set does not exist")
        .where(kFlag + named)
        .why("there is no folder of that name, and it is no name of the hub")
        .hint("the path of a folder, or the name of a data set in the local hub cache");
  if (const auto snapshot = find_snapshot(cache, named, "main", HubKind::kDataset)) return *snapshot;
  throw Error(ExitCode::kData, "'" + named + "' is neither a folder nor in the local hub cache")
      .where(kFlag + named)
      .why("there is no folder of that name in " + fs::current_path(ignored).string() +
           ", and no snapshot in " + repository_folder(cache, named, HubKind::kDataset) +
           "; hftrain itself fetches nothing")
      .hint("hf download --repo-type dataset " + named + ", or name a folder");
}

// The folder whose sub-folders are the classes of the images; it holds those of this split alone.
std::string folder_of_images(const std::string& folder, const data::SplitFiles& split) {
  const std::string common = parent(parent(split.files.front()));
  const bool by_class = std::all_of(split.files.begin(), split.files.end(), [&](const std::string& file) {
    return file.find('/') != std::string::npos && parent(parent(file)) == common;
  });
  const std::string path = common.empty() ? folder : folder + '/' + common;
  if (!by_class || data::image_files(path).size() != split.files.size())
    throw Error(ExitCode::kData, "the images of the data set do not lie in folders of their classes")
        .where(path)
        .why("those of the split '" + split.split + "' are not all in SPLIT/CLASS/")
        .hint("order them so, or name a folder by --train_dir and --validation_dir");
  return path;
}

std::vector<DatasetSplit> absolute_files(const std::string& folder,
                                         const std::vector<data::SplitFiles>& splits) {
  const bool images = data::kind_of_files(splits, folder) == "images";
  std::vector<DatasetSplit> made;
  for (const data::SplitFiles& split : splits) {
    made.push_back({split.split, {}});
    if (images) made.back().files.push_back(folder_of_images(folder, split));
    for (const std::string& file : split.files) {
      if (!images) made.back().files.push_back(folder + '/' + file);
    }
  }
  return made;
}

std::string names_of(const std::vector<DatasetSplit>& splits) {
  std::vector<std::string> names;
  for (const DatasetSplit& split : splits) names.push_back(split.name);
  return join(names, ", ");
}

// The files of a split of that name; none when it is not there.
std::vector<std::string> files_named(const std::vector<DatasetSplit>& splits, const std::string& name) {
  for (const DatasetSplit& split : splits) {
    if (split.name == name) return split.files;
  }
  return {};
}

}  // namespace

std::vector<DatasetSplit> dataset_splits(const std::string& named,
                                         const std::optional<std::string>& configuration,
                                         const std::string& cache) {
  std::string folder = folder_of(named, cache);
  refuse_other_kinds(folder, last_name(fs::is_directory(named) ? folder : named));
  const std::vector<DatasetConfiguration> configurations = read_dataset_card(folder);
  const DatasetConfiguration* chosen = chosen_configuration(configurations, configuration, folder);
  if (chosen != nullptr && !chosen->folder.empty()) folder += '/' + chosen->folder;
  const data::RelativePaths files = data::files_below(folder);
  const bool by_card = chosen != nullptr && !chosen->patterns.empty();
  const std::vector<data::SplitPatterns> patterns =
      by_card ? chosen->patterns : data::patterns_by_names(files);
  if (patterns.empty())
    throw Error(ExitCode::kData, "there are no data files in the data set")
        .where(folder)
        .why("it has " + std::to_string(files.size()) + " files, and none of them holds data")
        .hint("fetch the data set as a whole, or name another folder");
  for (const data::SplitPatterns& each : patterns) {
    if (!data::is_split_name(each.split))
      throw Error(ExitCode::kData, "a split of the data set has no name that can be told")
          .where(folder + "/data")
          .why("'" + each.split +
               "', of SPLIT-00000-of-00009, has other characters than letters, digits, '_' and '.'")
          .hint(std::string("rename its files, or ") + kOrFiles);
  }
  return absolute_files(folder, data::files_of_splits(files, patterns, chosen == nullptr, folder));
}

NamedFiles files_of_run(const arguments::ParseOutcome& parsed, const Environment& environment) {
  const arguments::Arguments& arguments = parsed.arguments;
  const arguments::DataArguments& data = arguments.data;
  if (!data.dataset_name)
    return {data.train_file, data.validation_file, data.test_file, data.validation_mismatched_file,
            data.test_mismatched_file};
  const std::string cache = hub_cache_folder(arguments.model.cache_dir, environment);
  const std::vector<DatasetSplit> splits =
      dataset_splits(*data.dataset_name, data.dataset_config_name, cache);
  const bool instructions = task_row(parsed).task == tasks::Task::kInstructionTuning;
  const std::string train = instructions ? arguments.instructions.dataset_train_split : "train";
  const std::string validation = instructions ? arguments.instructions.dataset_test_split : "validation";
  // GLUE's MNLI has two sets of each.
  const bool two = data.task_name && to_lower(*data.task_name) == "mnli" && !instructions;
  const std::string suffix = two ? "_matched" : "";
  NamedFiles files = {files_named(splits, train), files_named(splits, validation + suffix),
                      files_named(splits, "test" + suffix)};
  if (two) files.validation_mismatched = files_named(splits, "validation_mismatched");
  if (two) files.test_mismatched = files_named(splits, "test_mismatched");
  if (files.validation.empty()) files.validation = files_named(splits, validation);
  if (files.test.empty()) files.test = files_named(splits, "test");
  const auto need = [&](const std::vector<std::string>& found, const std::string& name, const char* what) {
    if (found.empty())
      throw Error(ExitCode::kData, "the data set has no split '" + name + "'")
          .where(kFlag + *data.dataset_name)
          .why(std::string(what) + " needs it; the splits are " + names_of(splits))
          .hint(kOrFiles);
  };
  if (instructions && wants_validation(parsed) && parsed.origins.is_given("dataset_test_split"))
    need(files.validation, validation, "--dataset_test_split");
  if (wants_training(parsed) || (wants_validation(parsed) && files.validation.empty()))
    need(files.train, train, wants_training(parsed) ? "training" : "evaluation without a split 'validation'");
  if (arguments.run.do_predict) need(files.test, "test", "do_predict");
  return files;
}

}  // namespace hftrain::plan
