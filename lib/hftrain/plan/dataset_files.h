// The files of a data set that is named by a folder or by its name on the hub, in the local cache. Nothing is fetched, and no code that comes
// with a data set is run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"
#include "hftrain/data/dataset_kinds.h"

namespace hftrain::plan {

// What a run trains on and is judged by: paths or globs.
struct NamedFiles {
  std::vector<std::string> train, validation, test;
  std::vector<std::string> validation_mismatched, test_mismatched;  // of MNLI
  std::vector<Diagnostic> notes;  // of a data set by name: what the user should know of how it was found
};

struct DatasetFiles {
  std::string folder;                    // absolute
  data::RelativePaths all;               // below it
  std::vector<data::SplitFiles> splits;  // in the order of datasets' load_dataset
  std::string kind;                      // data::kind_of_files
};

// The data set `named`, which was named at `place`. `cache`: hub_cache_folder. What is not there, has files that are not read here, or is a
// program that makes data is an Error (exit code 4) that says where was looked. Whether files that have a name are there is not looked at.
DatasetFiles find_dataset(const std::string& named, const std::optional<std::string>& configuration,
                          const std::string& cache, const std::string& place);

// Absolute paths of the files of a split; of images the folder with the folders of their classes.
std::vector<std::string> paths_of_split(const DatasetFiles& found, const data::SplitFiles& split);

// An Error (exit code 4) when a part of a split is missing, or when its images lie otherwise than in folders of their classes. Nothing to
// say when there is no such split.
void require_whole(const DatasetFiles& found, const std::string& split);

// The files that the flags name or, of --dataset_name, those of its splits train, validation and test; of instruction tuning
// the splits that --dataset_train_split and --dataset_test_split name. A split that training or prediction needs and the data set
// lacks is an Error (exit code 4); without one for evaluation a share of the training rows is held out, as of files.
NamedFiles files_of_run(const arguments::ParseOutcome& parsed, const Environment& environment);

}  // namespace hftrain::plan
