#include "hftrain/data/path_patterns.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDeepest = 64;
constexpr std::array<std::string_view, 6> kNoData = {"README.md",         "config.json",
                                                     "dataset_info.json", "dataset_infos.json",
                                                     "dummy_data.zip",    "dataset_dict.json"};

// What follows a set that begins at `at` with "[", and whether `c` is in it; nothing when it is not closed.
std::optional<size_t> behind_set(std::string_view pattern, size_t at, char c, bool& in_set) {
  size_t next = at + 1;
  const bool negated = next < pattern.size() && pattern[next] == '!';
  if (negated) ++next;
  const size_t close = pattern.find(']', next + 1);
  if (close == std::string_view::npos) return std::nullopt;
  bool found = false;
  while (next < close) {
    const bool range = next + 2 < close && pattern[next + 1] == '-';
    const char low = pattern[next], high = range ? pattern[next + 2] : low;
    found = found || (low <= c && c <= high);
    next += range ? 3 : 1;
  }
  in_set = found != negated;
  return close + 1;
}

// Whether the part of `pattern` at `at` that stands for one character takes `c`; `at` moves behind it.
bool takes(std::string_view pattern, size_t& at, char c) {
  if (pattern[at] == '?') return ++at, true;
  bool in_set = false;
  if (pattern[at] == '[') {
    if (const auto behind = behind_set(pattern, at, c, in_set)) return at = *behind, in_set;
  }
  return pattern[at++] == c;
}

// A name of one folder or file.
bool matches_name(std::string_view pattern, std::string_view name) {
  size_t at = 0, i = 0;
  std::optional<std::pair<size_t, size_t>> star;  // behind the last one, and how far it has reached
  while (i < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = {++at, i};
      continue;
    }
    size_t next = at;
    if (at < pattern.size() && takes(pattern, next, name[i])) {
      at = next;
      ++i;
    } else if (star) {
      at = star->first;
      i = ++star->second;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

// Whether names [at, …) of a pattern take names [i, …) of a path; each pair is looked at once.
bool matches_names(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  std::vector<char> reached(path.size() + 1, 0);  // by the names of the pattern so far
  reached[0] = 1;
  for (size_t at = 0; at < pattern.size(); ++at) {
    std::vector<char> next(path.size() + 1, 0);
    const bool any = pattern[at] == "**", last = at + 1 == pattern.size();
    for (size_t i = 0; i <= path.size(); ++i) {
      if (!reached[i]) continue;
      if (any) {
        for (size_t end = last ? i + 1 : i; end <= path.size(); ++end) next[end] = 1;
      } else if (i < path.size() && matches_name(pattern[at], path[i])) {
        next[i + 1] = 1;
      }
    }
    reached = std::move(next);
  }
  return reached[path.size()] != 0;
}

bool is_hidden(const std::string& name) {
  return name.front() == '.' && name.find_first_not_of('.') != std::string::npos;
}

std::vector<std::string> names_of(std::string_view path) {
  std::vector<std::string> names = split(std::string(path), '/');
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string& name) { return name.empty() || name == "."; }),
              names.end());
  return names;
}

// How many names are hidden, and how many folders are special.
std::pair<ptrdiff_t, ptrdiff_t> unusual_names(const std::vector<std::string>& names) {
  const auto hidden = std::count_if(names.begin(), names.end(), is_hidden);
  const auto special = std::count_if(names.begin(), names.empty() ? names.end() : names.end() - 1,
                                     [](const std::string& name) { return name.starts_with("__"); });
  return {hidden, special};
}

Error too_large(const std::string& folder, const std::string& why) {
  return Error(ExitCode::kData, "the folder is no data set that can be looked through")
      .where(folder)
      .why(why)
      .hint("name a folder within it, or its files by --train_file");
}

// The folder of a run that was put among the data: what it writes is no data of the next one.
bool is_of_a_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "hftrain" / "lock", ignored) ||
         fs::exists(folder / "hftrain" / "plan.json", ignored);
}

void add_files(const std::string& folder, const std::string& below, size_t depth, size_t most,
               RelativePaths& files) {
  if (depth > kDeepest)
    throw too_large(folder, "its folders are more than " + std::to_string(kDeepest) + " deep");
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + '/' + below, error)) {
    const std::string path = below + entry.path().filename().string();
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      // Links as datasets does; they may lead round in a circle.
      if (entry.is_symlink(ignored) || is_of_a_run(entry.path())) continue;
      add_files(folder, path + '/', depth + 1, most, files);
    } else if (entry.is_regular_file(ignored) || leads_nowhere(entry.path())) {
      files.push_back(path);
    }
    if (files.size() > most) throw too_large(folder, "it has more than " + with_thousands(most) + " files");
  }
  if (error)
    throw system_error(error.value(), "cannot read the folder", folder + '/' + below, ExitCode::kData);
}

}  // namespace

bool leads_nowhere(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) && !fs::exists(path, ignored);
}

RelativePaths files_below(const std::string& folder, size_t most) {
  RelativePaths files;
  add_files(folder, "", 0, most, files);
  std::sort(files.begin(), files.end());
  return files;
}

bool has_wildcards(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

bool matches_pattern(std::string_view pattern, std::string_view path) {
  return matches_names(names_of(pattern), names_of(path));
}

RelativePaths matching_files(const RelativePaths& files, const std::string& pattern) {
  const std::vector<std::string> names = names_of(pattern);
  RelativePaths found;
  for (const std::string& file : files) {
    const std::vector<std::string> path = names_of(file);
    const bool no_data = std::find(kNoData.begin(), kNoData.end(), path.back()) != kNoData.end();
    if (no_data && path.back() != names.back()) continue;
    if (matches_names(names, path) && unusual_names(names) == unusual_names(path)) found.push_back(file);
  }
  return found;
}

}  // namespace hftrain::data
