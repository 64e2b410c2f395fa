#include "hftrain/plan/dataset_files.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/data/dataset_layout.h"
#include "hftrain/data/dataset_shards.h"
#include "hftrain/data/image_folder.h"
#include "hftrain/data/path_patterns.h"
#include "hftrain/plan/dataset_card.h"
#include "hftrain/plan/hub_cache.h"

namespace hftrain::plan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImages = "images";  // of data::kind_of_files
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

std::string folder_of(const std::string& named, const std::string& cache, const std::string& place) {
  if (is_folder(named)) {
    const fs::path folder = fs::absolute(named).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).string();
  }
  std::error_code ignored;
  if (!is_hub_name(named))
    throw Error(ExitCode::kData, "the folder of the data set does not exist")
        .where(place)
        .why("there is no folder of that name, and it is no name of the hub")
        .hint("the path of a folder, or the name of a data set in the local hub cache");
  if (const auto snapshot = find_snapshot(cache, named, "main", HubKind::kDataset)) return *snapshot;
  throw Error(ExitCode::kData, "'" + named + "' is neither a folder nor in the local hub cache")
      .where(place)
      .why("there is no folder of that name in " + fs::current_path(ignored).string() +
           ", and no snapshot in " + repository_folder(cache, named, HubKind::kDataset) +
           "; a run itself fetches nothing")
      .hint("hftrain fetch --dataset " + named + ", or name a folder");
}

// The folder whose sub-folders are the classes of the images.
std::string folder_of_images(const std::string& folder, const data::SplitFiles& split) {
  const std::string common = parent(parent(split.files.front()));
  return common.empty() ? folder : folder + '/' + common;
}

// That folder holds the images of this split alone.
void require_classes(const std::string& folder, const data::SplitFiles& split) {
  const std::string common = parent(parent(split.files.front()));
  const bool by_class = std::all_of(split.files.begin(), split.files.end(), [&](const std::string& file) {
    return file.find('/') != std::string::npos && parent(parent(file)) == common;
  });
  const std::string path = folder_of_images(folder, split);
  if (!by_class || data::image_files(path).size() != split.files.size())
    throw Error(ExitCode::kData, "the images of the data set do not lie in folders of their classes")
        .where(path)
        .why("those of the split '" + split.split + "' are not all in SPLIT/CLASS/")
        .hint("order them so, or name a folder by --train_dir and --validation_dir");
}

// A cache that was filled in part has links without the files that they lead to.
void require_files(const std::string& folder, const data::SplitFiles& split) {
  for (const std::string& file : split.files) {
    const std::string path = folder + '/' + file;
    if (!data::leads_nowhere(path)) continue;
    std::error_code ignored;
    throw Error(ExitCode::kData, "a file of the data set is a link that leads nowhere")
        .where(path)
        .why("there is no " + fs::read_symlink(path, ignored).string())
        .hint("fetch the data set as a whole, or " + std::string(kOrFiles));
  }
}

// A card that names single parts means them.
void require_parts(const DatasetFiles& found, const data::SplitFiles& split) {
  data::RelativePaths parts = split.files;
  std::erase_if(parts, [&](const std::string& file) { return split.named_singly.contains(file); });
  data::require_all_shards(parts, found.all, found.folder);
}

// What says what images are is not read beside them: it lies in their folder, or in one above that.
void refuse_descriptions(const DatasetFiles& found, const data::SplitFiles& split) {
  for (const std::string& file : found.all) {
    if (!data::describes_images(file)) continue;
    const std::string above = file.substr(0, file.rfind('/') + 1);
    if (std::none_of(split.files.begin(), split.files.end(),
                     [&](const std::string& image) { return image.starts_with(above); }))
      continue;
    throw Error(ExitCode::kData, "the images of the data set are described by a file, which is not read")
        .where(found.folder + '/' + file)
        .why("the classes of a folder of images are the names of its sub-folders")
        .hint("--train_file " + found.folder + '/' + file + " takes its rows; or take it out of the folder");
  }
}

const data::SplitFiles* split_named(const DatasetFiles& found, const std::string& name) {
  for (const data::SplitFiles& split : found.splits) {
    if (split.split == name) return &split;
  }
  return nullptr;
}

}  // namespace

DatasetFiles find_dataset(const std::string& named, const std::optional<std::string>& configuration,
                          const std::string& cache, const std::string& place) {
  std::string folder = folder_of(named, cache, place);
  refuse_other_kinds(folder, last_name(is_folder(named) ? folder : named));
  const std::vector<DatasetConfiguration> configurations = read_dataset_card(folder);
  const DatasetConfiguration* chosen = chosen_configuration(configurations, configuration, folder);
  if (chosen != nullptr && !chosen->folder.empty()) folder += '/' + chosen->folder;
  data::RelativePaths files = data::files_below(folder);
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
  std::vector<data::SplitFiles> splits = data::files_of_splits(files, patterns, chosen == nullptr, folder);
  const std::string kind = data::kind_of_files(splits, folder);
  return {folder, std::move(files), std::move(splits), kind};
}

std::vector<std::string> paths_of_split(const DatasetFiles& found, const data::SplitFiles& split) {
  if (found.kind == kImages) return {folder_of_images(found.folder, split)};
  std::vector<std::string> paths;
  for (const std::string& file : split.files) paths.push_back(found.folder + '/' + file);
  return paths;
}

void require_whole(const DatasetFiles& found, const std::string& split) {
  const data::SplitFiles* of_split = split_named(found, split);
  if (of_split == nullptr) return;
  require_parts(found, *of_split);
  if (found.kind == kImages) refuse_descriptions(found, *of_split);
  require_files(found.folder, *of_split);
  if (found.kind == kImages) require_classes(found.folder, *of_split);
}

}  // namespace hftrain::plan
