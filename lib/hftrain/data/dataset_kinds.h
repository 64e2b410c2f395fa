// What the files of a data set are taken for, by the endings of their names, as the package datasets 5.2 does.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "hftrain/data/path_patterns.h"

namespace hftrain::data {

struct SplitFiles {
  std::string split;
  RelativePaths files;                 // one that two patterns name stands there twice, as datasets has it
  std::set<std::string> named_singly;  // those that a pattern without wildcards names
};

// Whether a file has an ending of data, one that is read here or not.
bool could_be_data(const std::string& path);

// metadata.csv, metadata.jsonl or metadata.parquet, which says of the images beside it what they are.
bool describes_images(const std::string& path);

// "parquet", "json", "csv", "text" or "images": what datasets takes the files of all splits for, by the endings that most of
// them have. Another kind, or splits of different kinds, are an Error (exit code 4) with `where`.
std::string kind_of_files(const std::vector<SplitFiles>& splits, const std::string& where);

// Leaves those that have an ending of the kind of most.
void keep_leading_kind(std::vector<SplitFiles>& splits, const std::string& where);

// An Error (exit code 4) for a file of another kind than most have. Documents, which no reader takes for rows (CHANGES.md), are left out.
void require_one_kind(std::vector<SplitFiles>& splits, const std::string& where);

}  // namespace hftrain::data
