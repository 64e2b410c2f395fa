#include "hftrain/data/dataset_kinds.h"

#include <algorithm>
#include <array>
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
// Of these the ones that people write beside rows.
const std::vector<std::string> kDocuments = {".md", ".pdf", ".toml"};
const std::set<std::string> kMetadata = {"metadata.csv", "metadata.jsonl", "metadata.parquet"};

std::string name_of_file(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// ".jsonl" and ".gz" of "a.jsonl.gz".
std::vector<std::string> endings_of(const std::string& path) {
  std::vector<std::string> parts = split(name_of_file(path), '.');
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
      ++count[{to_lower(ending), kMetadata.contains(name_of_file(file))}];
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

}  // namespace

bool could_be_data(const std::string& path) {
  const std::vector<std::string> endings = endings_of(path);
  return std::any_of(endings.begin(), endings.end(), [](const std::string& ending) {
    return is_other(ending) || !kind_of_ending(ending).empty();
  });
}

bool describes_images(const std::string& path) {
  return kMetadata.contains(name_of_file(path));
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

void keep_leading_kind(std::vector<SplitFiles>& splits, const std::string& where) {
  const std::vector<std::string>& endings = kReadable.at(kind_of_files(splits, where));
  for (SplitFiles& each : splits)
    std::erase_if(each.files, [&](const std::string& file) { return !has_ending(file, endings); });
}

void require_one_kind(std::vector<SplitFiles>& splits, const std::string& where) {
  const std::string kind = kind_of_files(splits, where);
  const std::vector<std::string>& endings = kReadable.at(kind);
  for (SplitFiles& each : splits) {
    std::erase_if(each.files, [&](const std::string& file) {
      return !has_ending(file, endings) && has_ending(file, kDocuments);
    });
    const auto other = std::find_if(each.files.begin(), each.files.end(),
                                    [&](const std::string& file) { return !has_ending(file, endings); });
    if (other == each.files.end()) continue;
    throw Error(ExitCode::kData, "the files of a configuration of the data set are of different kinds")
        .where(where)
        .why("those of the split '" + each.split + "' are taken for " + kind + ", and '" + *other +
             "' is among them")
        .hint("take it out of the folder, or write in the card's data_files which ones are meant");
  }
}

}  // namespace hftrain::data
