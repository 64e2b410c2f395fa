#include "hftrain/data/dataset_layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

// Endings of files by what datasets 5.2 reads them with, where hftrain can read them too.
const std::map<std::string, std::vector<std::string>> kReadable = {
    {"csv", {".csv", ".tsv"}},
    {"json", {".json", ".jsonl"}},
    {"parquet", {".parquet"}},
    {"text", {".txt"}},
    {"images", {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"}}};
// And of others, which are data all the same: a data set that is made of them is refused by name.
constexpr std::array<const char*, 36> kOthers = {
    ".ndjson", ".geoparquet", ".gpq",  ".arrow", ".conll", ".conllu", ".tar",   ".xml",    ".hdf5",
    ".h5",     ".eval",       ".toml", ".md",    ".lance", ".tsfile", ".zip",   ".pdf",    ".wav",
    ".mp3",    ".flac",       ".ogg",  ".opus",  ".mp4",   ".mkv",    ".avi",   ".mov",    ".webm",
    ".gif",    ".bmp",        ".webp", ".tif",   ".tiff",  ".fasta",  ".fastq", ".vortex", ".pdb"};
const std::set<std::string> kMetadata = {"metadata.csv", "metadata.jsonl", "metadata.parquet"};

const std::vector<std::pair<std::string, std::vector<std::string>>> kWords = {
    {"train", {"train", "training"}},
    {"validation", {"validation", "valid", "dev", "val"}},
    {"test", {"test", "testing", "eval", "evaluation"}}};
constexpr const char* kDigits = "[0-9][0-9][0-9][0-9][0-9]";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// ".jsonl" and ".gz" of "a.jsonl.gz".
std::vector<std::string> endings_of(const std::string& path) {
  std::vector<std::string> parts = split(file_name(path), '.');
  parts.erase(parts.begin());
  for (std::string& part : parts) part.insert(0, 1, '.');
  return parts;
}

std::string kind_of_ending(const std::string& ending) {
  for (const auto& [kind, endings] : kReadable) {
    if (std::find(endings.begin(), endings.end(), ending) != endings.end()) return kind;
  }
  return "";
}

bool is_other(const std::string& ending) {
  return std::find(kOthers.begin(), kOthers.end(), ending) != kOthers.end();
}

bool could_be_data(const std::string& path) {
  const std::vector<std::string> endings = endings_of(path);
  return std::any_of(endings.begin(), endings.end(), [](const std::string& ending) {
    return is_other(ending) || !kind_of_ending(ending).empty();
  });
}

// As the package filters: one of the endings, at the end or before further ones.
bool has_ending(const std::string& path, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    for (size_t at = path.find(ending); at != std::string::npos; at = path.find(ending, at + 1)) {
      const size_t end = at + ending.size();
      if (end == path.size() || (path[end] == '.' && end + 1 < path.size())) return true;
    }
    return false;
  });
}

// The ending that counts most: the one that most files have; of several Parquet's, then those of JSON lines, JSON and CSV, then
// the last of the alphabet. Descriptions of images count last.
std::string leading_ending(const RelativePaths& files) {
  std::map<std::pair<std::string, bool>, int> count;
  for (const std::string& file : files) {
    for (const std::string& ending : endings_of(file))
      ++count[{to_lower(ending), kMetadata.contains(file_name(file))}];
  }
  using Rank = std::tuple<bool, int, bool, bool, bool, bool, bool, bool, bool, std::string>;
  std::map<Rank, std::string> ranked;
  for (const auto& [key, files_with] : count) {
    const auto& [ending, describes] = key;
    ranked[{!describes, files_with, ending == ".parquet", ending == ".lance", ending == ".vortex",
            ending == ".arrow", ending == ".jsonl", ending == ".json", ending == ".csv", ending}] = ending;
  }
  for (auto each = ranked.rbegin(); each != ranked.rend(); ++each) {
    if (is_other(each->second) || !kind_of_ending(each->second).empty()) return each->second;
  }
  return "";
}

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

// What stands before the last "-00000-of-00009" of such a file's name.
std::string split_of_shard(const std::string& file) {
  const std::string name = file_name(file);
  size_t at = name.rfind("-of-");
  while (at != std::string::npos && at >= 7 &&
         !matches_pattern(std::string("*-") + kDigits + "-of-" + kDigits + "*", name.substr(at - 7)))
    at = name.rfind("-of-", at - 1);
  return at == std::string::npos || at < 7 ? "" : name.substr(0, at - 6);
}

std::vector<SplitPatterns> shards(const RelativePaths& files) {
  std::set<std::string> found;
  for (const std::string& file : matching_files(files, sharded("*"))) found.insert(split_of_shard(file));
  std::vector<SplitPatterns> patterns;
  const auto take = [&](const std::string& split) { patterns.push_back({split, {sharded(split)}}); };
  for (const auto& [split, words] : kWords) {
    if (found.erase(split) > 0) take(split);
  }
  for (const std::string& split : found) take(split);
  return patterns;
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

std::string kind_of_files(const std::vector<SplitFiles>& splits, const std::string& where) {
  std::string kind;
  for (const SplitFiles& each : splits) {
    const std::string ending = leading_ending(each.files), of_split = kind_of_ending(ending);
    const std::string name = "the files of the split '" + each.split + "' ";
    if (of_split.empty())
      throw Error(ExitCode::kData, "the data set has files that are not read here")
          .where(where)
          .why(name + (ending.empty() ? "have no ending of data" : "mostly end in " + ending))
          .hint("convert them to .parquet, .jsonl, .csv or .txt");
    if (!kind.empty() && kind != of_split)
      throw Error(ExitCode::kData, "the splits of the data set have files of different kinds")
          .where(where)
          .why(name + "are taken for " + of_split + ", and those of '" + splits.front().split + "' for " +
               kind)
          .hint("name the files by --train_file and --validation_file");
    kind = of_split;
  }
  return kind;
}

std::vector<SplitFiles> files_of_splits(const RelativePaths& files,
                                        const std::vector<SplitPatterns>& patterns, bool of_one_kind,
                                        const std::string& where) {
  std::vector<SplitFiles> splits;
  for (const SplitPatterns& each : patterns) {
    splits.push_back({each.split, {}});
    for (const std::string& pattern : each.patterns) {
      const size_t before = splits.back().files.size();
      for (const std::string& file : matching_files(files, pattern)) {
        if (could_be_data(file)) splits.back().files.push_back(file);
      }
      if (splits.back().files.size() == before && !has_wildcards(pattern))
        throw Error(ExitCode::kData, "a file of the data set is missing")
            .where(where)
            .why("there is no data file '" + pattern + "', which its card names for the split '" +
                 each.split + "'")
            .hint("fetch the data set as a whole, or see whether the path is right");
    }
  }
  if (!of_one_kind) return splits;
  const std::vector<std::string>& endings = kReadable.at(kind_of_files(splits, where));
  for (SplitFiles& each : splits)
    std::erase_if(each.files, [&](const std::string& file) { return !has_ending(file, endings); });
  return splits;
}

}  // namespace hftrain::data
