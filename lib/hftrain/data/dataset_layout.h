// Which files of a folder are the splits of a data set, as load_dataset(folder) of the package datasets 5.2 tells.
//
// The card of the data set (README.md) may name patterns for each split. Without it names of folders and files say what they are for: the first
// of these ways that finds a file counts.
//   1. data/SPLIT-00000-of-00009*.*, for splits of any name
//   2. files that end in .eval are the split `logs`, files called task.toml or instruction.md the split `test`: neither is read here
//   3. folders, then files, whose name has a word of a split: train, training; validation, valid, dev, val; test, testing, eval,
//      evaluation. Words end at one of "-._ ", a digit, or the end of the name.
//   4. all files are for training
#pragma once

#include <string>
#include <vector>

#include "hftrain/data/dataset_kinds.h"
#include "hftrain/data/path_patterns.h"

namespace hftrain::data {

struct SplitPatterns {
  std::string split;
  std::vector<std::string> patterns;
};

// The patterns of the first way that finds one of `files`; none when there are no files but hidden ones and those that are no data.
std::vector<SplitPatterns> patterns_by_names(const RelativePaths& files);

// The files of each split. With `of_one_kind` those that have an ending of the kind of most; without, all that could be data, and one
// of another kind is an Error (exit code 4), unless it is a document.
std::vector<SplitFiles> files_of_splits(const RelativePaths& files,
                                        const std::vector<SplitPatterns>& patterns, bool of_one_kind,
                                        const std::string& where);

// A split's name: words of letters, digits and underscores, joined by dots.
bool is_split_name(const std::string& name);

}  // namespace hftrain::data
