// Patterns of paths as cards of data sets and the package datasets write them, over the files below a folder.
//
// `*` and `?` stay within a name, `[…]` is one of some characters (`[!…]` none of them), `**` as a whole name stands for any
// number of folders, at the end for all that is below.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::data {

// A file of those below a folder, by its path from there ("data/train.csv").
using RelativePaths = std::vector<std::string>;

// Whether it is a link to what is not there.
bool leads_nowhere(const std::filesystem::path& path);

// All regular files below `folder`, sorted by their bytes; links to files are followed, and those that lead nowhere are among them. Folders
// of runs and links to folders are left out. More than `most` of them, or folders deeper than any real one, are an Error (exit code 4).
RelativePaths files_below(const std::string& folder, size_t most = 1'000'000);

bool has_wildcards(std::string_view pattern);
bool matches_pattern(std::string_view pattern, std::string_view path);

// Those of `files` that `pattern` names, in their order. Left out, as datasets does, unless the pattern says so itself: what is hidden (a name
// begins with a dot), what lies in a folder that begins with "__", and files of a repository that are no data (README.md).
RelativePaths matching_files(const RelativePaths& files, const std::string& pattern);

}  // namespace hftrain::data
