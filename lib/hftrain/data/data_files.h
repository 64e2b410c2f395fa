// What the user names as data: paths and globs become a list of files of one kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/data/row_source.h"

namespace hftrain::data {

enum class Split { kTrain, kValidation, kTest };
// "train", "validation" or "test": the name in files, keys and messages.
const char* split_name(Split split);

// Either rows of text, or token files that are already made of ids.
struct DataFiles {
  std::vector<RowFile> rows;
  std::vector<std::string> token_prefixes;  // of .bin/.idx pairs

  bool tokenized() const { return !token_prefixes.empty(); }
  // Every file that has to be read, for hashing and for progress.
  std::vector<std::string> paths() const;
};

// As they lie on disk; of a folder of images their number, which is what their rows count as. A file that is not there
// is an Error (exit code 4).
uint64_t bytes_of_file(const std::string& path);
uint64_t bytes_of(const RowFile& file);
uint64_t bytes_of(const DataFiles& files);

// What a glob (*, ?, []) names, sorted by bytes; a path that exists is taken as it is. Empty: nothing is there.
std::vector<std::string> paths_of_pattern(const std::string& pattern);

// Whether prepare() wrote that folder.
bool is_prepared_folder(const std::string& path);

// Whether all that the patterns name are token files: by the ending, which need not exist, or as the prefix of an .idx that does.
bool names_token_files(const std::vector<std::string>& patterns);

// Expands globs and finds the format of every file by its name. A folder written by prepare() stands for its token
// file of `split`. Nothing found, an unknown extension, or text beside token files: Error (exit code 4 or 2) naming the
// pattern or the file.
// With `image_folders` every other folder stands for the images in it.
DataFiles find_data_files(const std::vector<std::string>& patterns, Split split, bool image_folders = false);

// Of files that stand several times in `paths`, by a glob beside its name for example, what users should know: a sentence each.
std::vector<std::string> told_of_repeated_files(const std::vector<std::string>& paths, Split split);

}  // namespace hftrain::data
