#include "hftrain/data/data_files.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/text.h"
#include "hftrain/data/cache_use.h"
#include "hftrain/data/features.h"
#include "hftrain/data/image_folder.h"
#include "hftrain/data/path_patterns.h"
#include "hftrain/data/row_format.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormats =
    ".txt, .md, .jsonl, .json, .csv and .tsv, each also with .gz or .zst behind it, .source with .target "
    "beside "
    "it, .parquet, "
    "a .bin/.idx pair, or a folder that prepare wrote";

// Of a pattern that begins with `plain`. With the "." it is there for those alone who may search it.
std::string searched_folder(const std::string& plain) {
  const size_t end = plain.rfind('/');
  return end == std::string::npos ? "." : plain.substr(0, end) + "/.";
}

std::vector<std::string> expand(const std::string& pattern) {
  std::vector<std::string> paths = paths_of_pattern(pattern);
  if (paths.empty()) {
    const size_t wildcard = pattern.find_first_of("*?[");
    const bool is_glob = wildcard != std::string::npos;
    refuse_hidden(is_glob ? searched_folder(pattern.substr(0, wildcard)) : pattern, pattern);
    throw Error(ExitCode::kData, is_glob ? "no data file matches the pattern" : "a data file does not exist")
        .where(pattern.empty() ? "'', an empty path" : pattern)
        .why(is_glob ? "there is no file of such a name" : "there is nothing of that name")
        .hint("see whether the path is right; a relative one starts in the folder where hftrain was started");
  }
  return paths;
}

bool is_pair_or_prefix(const std::string& path) {
  const fs::path ending = fs::path(path).extension();
  return ending == ".bin" || ending == ".idx" || (!path_exists(path) && path_exists(path + ".idx"));
}

bool names_token_file(const std::string& path) {
  return is_prepared_folder(path) || is_pair_or_prefix(path);
}

// A folder of samples with more than the ids of their tokens, which blocks would be cut of without a look at the rest. What is wrong with
// a damaged one is told where it is opened.
void refuse_other_task(const std::string& folder, Split split) {
  const Json meta = record_of(folder);
  std::vector<std::string> columns, sources;
  for (const Json& column :
       json_member(json_member(json_member(meta, "splits"), split_name(split)), "columns")) {
    if (const Json name = json_member(column, "name"); name.is_string()) columns.push_back(name);
  }
  if (columns.empty() || (columns.size() == 1 && columns.front() == kInputIds)) return;
  for (const Json& source : json_member(meta, "sources")) {
    if (source.is_string()) sources.push_back(source);
  }
  throw Error(ExitCode::kUsage, "the folder holds samples of another task")
      .where(folder)
      .why("prepare made them with " + join(columns, ", ") + ", and those of clm have " + kInputIds +
           " alone")
      .hint("name the files that they were made of: " + join(sources, ", "));
}

// Blocks of a user's token file may lie where that file does.
std::string prefix_in_entry(const std::string& folder, Split split) {
  const std::string own = folder + '/' + split_name(split);
  if (path_exists(own + ".idx")) return own;
  const Json place =
      json_member(json_member(json_member(record_of(folder), "splits"), split_name(split)), "path");
  return place.is_string() && fs::path(place.get<std::string>()).is_absolute() ? place.get<std::string>()
                                                                               : own;
}

// The prefix of the token file that `path` stands for; nothing when it is none.
std::optional<std::string> token_prefix(const std::string& path, Split split) {
  if (is_folder(path)) {
    if (!is_prepared_folder(path)) {
      throw Error(ExitCode::kData, "a folder is not a data file")
          .where(path)
          .why("it was not written by prepare")
          .hint("name the files in it, for example '" + path + "/*.txt', *.jsonl or *.csv");
    }
    const std::string prefix = prefix_in_entry(path, split);
    if (path_exists(prefix + ".idx")) {
      refuse_other_task(path, split);
      return prefix;
    }
    throw Error(ExitCode::kData, std::string("the prepared folder has no ") + split_name(split) + " data")
        .where(path)
        .why(std::string("there is no ") + split_name(split) + ".idx in it")
        .hint("prepare it again with files of that split");
  }
  if (!is_pair_or_prefix(path)) return std::nullopt;
  const fs::path ending = fs::path(path).extension();
  return ending == ".bin" || ending == ".idx" ? fs::path(path).replace_extension().string() : path;
}

bool is_image_folder(const std::string& path) {
  return is_folder(path) && !is_prepared_folder(path);
}

// A pipe or a device: it is read several times, and may never end.
void refuse_no_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error || !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) return;
  throw Error(ExitCode::kData, "a data file is no file")
      .where(path)
      .why("it is a pipe, a socket or a device, and data are read more than once")
      .hint("write what comes out of it into a file, and name that");
}

void add_file(const std::string& path, Split split, bool image_folders, DataFiles& files) {
  refuse_no_file(path);
  if (image_folders && is_image_folder(path)) {
    files.rows.push_back({path, RowFormat::kImageFolder});
  } else if (const auto prefix = token_prefix(path, split)) {
    auto& prefixes = files.token_prefixes;
    // A glob names both files of a pair.
    if (std::find(prefixes.begin(), prefixes.end(), *prefix) == prefixes.end()) prefixes.push_back(*prefix);
  } else if (const auto format = row_format(path)) {
    files.rows.push_back({path, *format});
  } else {
    throw Error(ExitCode::kUsage, "the format of a data file is not known")
        .where(path)
        .why(std::string("known by their names are ") + kFormats)
        .hint(image_folders ? "name the folder of the images, or a file with their paths and classes"
                            : "give the file the ending of what it holds");
  }
}

// `**` stands for any number of folders, which glob(3) does not know.
std::vector<std::string> paths_of_deep_pattern(const std::string& pattern) {
  const size_t slash = pattern.rfind('/', pattern.find_first_of("*?["));
  const std::string before = slash == std::string::npos ? "" : pattern.substr(0, slash + 1);
  std::vector<std::string> paths;
  // As glob(3) finds it: it may begin with a `~`.
  for (const std::string& folder : before.empty() ? std::vector<std::string>{""} : paths_of_pattern(before)) {
    if (!folder.empty() && !is_folder(folder)) continue;
    const RelativePaths below = files_below(folder.empty() ? "." : folder);
    for (const std::string& path : matching_files(below, pattern.substr(before.size())))
      paths.push_back(folder + path);
  }
  return paths;
}

}  // namespace

bool is_prepared_folder(const std::string& path) {
  return is_folder(path) && path_exists(path + '/' + kCacheRecord);
}

std::vector<std::string> paths_of_pattern(const std::string& pattern) {
  if (path_exists(pattern) || path_exists(pattern + ".idx")) return {pattern};
  if (('/' + pattern + '/').find("/**/") != std::string::npos) return paths_of_deep_pattern(pattern);
  glob_t found{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_TILDE, nullptr, &found);
  std::vector<std::string> paths;
  if (result == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(paths.begin(), paths.end());
  return paths;
}

const char* split_name(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kValidation:
      return "validation";
    case Split::kTest:
      return "test";
  }
  return "";
}

std::vector<std::string> DataFiles::paths() const {
  std::vector<std::string> all;
  for (const RowFile& file : rows) {
    all.push_back(file.path);
    if (file.format == RowFormat::kLinePairs) all.push_back(target_of_pair(file.path));
  }
  for (const std::string& prefix : token_prefixes) {
    all.push_back(prefix + ".idx");
    all.push_back(prefix + ".bin");
  }
  return all;
}

uint64_t bytes_of_file(const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error) throw system_error(error.value(), "cannot read the size of", path, ExitCode::kData);
  return bytes;
}

uint64_t bytes_of(const RowFile& file) {
  if (file.format == RowFormat::kImageFolder) return image_files(file.path).size();
  const bool pair = file.format == RowFormat::kLinePairs;
  return bytes_of_file(file.path) + (pair ? bytes_of_file(target_of_pair(file.path)) : 0);
}

uint64_t bytes_of(const DataFiles& files) {
  uint64_t total = 0;
  for (const RowFile& file : files.rows) total += bytes_of(file);
  for (const std::string& prefix : files.token_prefixes)
    total += bytes_of_file(prefix + ".idx") + bytes_of_file(prefix + ".bin");
  return total;
}

bool names_token_files(const std::vector<std::string>& patterns) {
  return std::ranges::all_of(patterns, names_token_file);
}

DataFiles find_data_files(const std::vector<std::string>& patterns, Split split, bool image_folders) {
  DataFiles files;
  for (const std::string& pattern : patterns) {
    for (const std::string& path : expand(pattern)) add_file(path, split, image_folders, files);
  }
  if (!files.rows.empty() && files.tokenized()) {
    throw Error(ExitCode::kUsage, "text and token files cannot be mixed")
        .where(std::string(split_name(split)) + "_file")
        .why(files.rows.front().path + " holds text, " + files.token_prefixes.front() + ".bin token ids")
        .hint("prepare the text first, or name files of one kind");
  }
  return files;
}

std::vector<std::string> told_of_repeated_files(const std::vector<std::string>& paths, Split split) {
  std::map<std::string, int> named;
  for (const std::string& path : paths) ++named[path];
  std::vector<std::string> told;
  for (const auto& [path, times] : named) {
    if (times > 1)
      told.push_back(path + " is named " + std::to_string(times) + " times as " + split_name(split) +
                     " data: its rows count as often");
  }
  return told;
}

}  // namespace hftrain::data
