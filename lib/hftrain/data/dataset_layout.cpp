#include "hftrain/data/dataset_layout.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/dataset_shards.h"

namespace hftrain::data {
namespace {

const std::vector<std::pair<std::string, std::vector<std::string>>> kWords = {
    {"train", {"train", "training"}},
    {"validation", {"validation", "valid", "dev", "val"}},
    {"test", {"test", "testing", "eval", "evaluation"}}};
constexpr const char* kDigits = "[0-9][0-9][0-9][0-9][0-9]";

// {split: patterns} with each word of a split in the place of "WORD".
std::vector<SplitPatterns> with_words(const std::vector<std::string>& forms) {
  std::vector<SplitPatterns> all;
  for (const auto& [split, words] : kWords) {
    all.push_back({split, {}});
    for (const std::string& word : words) {
      for (std::string form : forms) {
        form.replace(form.find("WORD"), 4, word);
        all.back().patterns.push_back(form);
      }
    }
  }
  return all;
}

const std::vector<std::vector<SplitPatterns>>& usual_ways() {
  static const std::vector<std::vector<SplitPatterns>> kWays = {
      {{"logs", {"**/*.eval"}}},
      {{"test", {"**/task.toml", "**/instruction.md"}}},
      with_words(
          {"**/WORD/**", "**/WORD[-._ 0-9]*/**", "**/*[-._ 0-9]WORD/**", "**/*[-._ 0-9]WORD[-._ 0-9]*/**"}),
      with_words({"**/WORD[-._ 0-9]*", "**/*[-._ 0-9]WORD[-._ 0-9]*"}),
      {{"train", {"**"}}}};
  return kWays;
}

std::string sharded(const std::string& split) {
  return "data/" + split + '-' + kDigits + "-of-" + kDigits + "*.*";
}

std::vector<SplitPatterns> shards(const RelativePaths& files) {
  std::set<std::string> found;
  for (const std::string& file : matching_files(files, sharded("*"))) {
    const std::string prefix = shard_of(file).value_or(Shard()).prefix;
    found.insert(prefix.substr(prefix.rfind('/') + 1));
  }
  std::vector<SplitPatterns> patterns;
  const auto take = [&](const std::string& split) { patterns.push_back({split, {sharded(split)}}); };
  for (const auto& [split, words] : kWords) {
    if (found.erase(split) > 0) take(split);
  }
  for (const std::string& split : found) take(split);
  return patterns;
}

// What a pattern names for a split.
RelativePaths files_of_pattern(const RelativePaths& files, const std::string& pattern,
                               const std::string& split, const std::string& where) {
  RelativePaths found;
  for (const std::string& file : matching_files(files, pattern)) {
    if (could_be_data(file)) found.push_back(file);
  }
  if (found.empty() && !has_wildcards(pattern))
    throw Error(ExitCode::kData, "a file of the data set is missing")
        .where(where)
        .why("there is no data file '" + pattern + "', which its card names for the split '" + split + "'")
        .hint("fetch the data set as a whole, or see whether the path is right");
  return found;
}

}  // namespace

bool is_split_name(const std::string& name) {
  const std::vector<std::string> words = split(name, '.');
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c >= 0x80;
    });
  });
}

std::vector<SplitPatterns> patterns_by_names(const RelativePaths& files) {
  if (std::vector<SplitPatterns> found = shards(files); !found.empty()) return found;
  for (const std::vector<SplitPatterns>& way : usual_ways()) {
    std::vector<SplitPatterns> found;
    for (const SplitPatterns& split : way) {
      if (std::any_of(split.patterns.begin(), split.patterns.end(),
                      [&](const std::string& pattern) { return !matching_files(files, pattern).empty(); }))
        found.push_back(split);
    }
    if (!found.empty()) return found;
  }
  return {};
}

std::vector<SplitFiles> files_of_splits(const RelativePaths& files,
                                        const std::vector<SplitPatterns>& patterns, bool of_one_kind,
                                        const std::string& where) {
  std::vector<SplitFiles> splits;
  for (const SplitPatterns& each : patterns) {
    SplitFiles& split = splits.emplace_back(SplitFiles{each.split, {}, {}});
    for (const std::string& pattern : each.patterns) {
      const RelativePaths found = files_of_pattern(files, pattern, each.split, where);
      split.files.insert(split.files.end(), found.begin(), found.end());
      if (!has_wildcards(pattern)) split.named_singly.insert(found.begin(), found.end());
    }
  }
  of_one_kind ? keep_leading_kind(splits, where) : require_one_kind(splits, where);
  return splits;
}

}  // namespace hftrain::data
