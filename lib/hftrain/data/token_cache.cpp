#include "hftrain/data/token_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <regex>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/data/column_file.h"
#include "hftrain/data/feature_sink.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

uint64_t size_of(const std::string& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

// A column as meta.json describes it: its sequences have `length` numbers each, or null of them when that
// differs from sample to sample.
Json column_to_json(const std::string& name, const std::string& prefix) {
  const std::unique_ptr<ColumnFile> file = ColumnFile::open(prefix);
  const int64_t length = file->size() > 0 ? file->length(0) : 0;
  bool fixed = file->size() > 0;
  for (int64_t i = 1; fixed && i < file->size(); ++i) fixed = file->length(i) == length;
  return {{"name", name},
          {"type", file->floats() ? "float" : "integer"},
          {"length", fixed ? Json(length) : Json()},
          {"bin_bytes", size_of(prefix + ".bin")},
          {"idx_bytes", size_of(prefix + ".idx")}};
}

Json split_to_json(const PreparedSplit& split, const std::string& staging_folder) {
  const std::string inside = staging_folder + '/';
  const bool own = split.cache_path.starts_with(inside);
  Json columns = Json::array();
  for (const std::string& name : split.columns)
    columns.push_back(column_to_json(name, column_prefix(split.cache_path, name)));
  return {{"path", own ? split.cache_path.substr(inside.size()) : split.cache_path},
          {"samples", split.samples},
          {"tokens", split.tokens},
          {"largest_token_id", split.largest_token_id},
          {"longest", split.longest},
          {"remarks", split.remarks},
          {"columns", columns}};
}

int64_t longest_of(const PreparedSplit& split) {
  const std::unique_ptr<ColumnFile> file =
      ColumnFile::open(column_prefix(split.cache_path, split.columns.front()));
  int64_t longest = 0;
  for (int64_t i = 0; i < file->size(); ++i) longest = std::max(longest, file->length(i));
  return longest;
}

std::string place_of_split(const Json& record, const std::string& folder) {
  const fs::path path(record.at("path").get<std::string>());
  return path.is_absolute() ? path.string() : (fs::path(folder) / path).string();
}

std::optional<std::string> lost_file_of(const Json& record, const std::string& folder) {
  for (const Json& column : record.at("columns")) {
    const std::string prefix = column_prefix(place_of_split(record, folder), column.at("name"));
    for (const char* suffix : {".bin", ".idx"})
      if (!path_exists(prefix + suffix)) return prefix + suffix;
  }
  return std::nullopt;
}

// Nothing when a file is missing or has another size than recorded.
std::optional<PreparedSplit> split_from_json(const Json& record, const std::string& folder) {
  PreparedSplit split;
  split.cache_path = place_of_split(record, folder);
  split.samples = record.at("samples");
  split.tokens = record.at("tokens");
  split.largest_token_id = record.at("largest_token_id");
  split.columns.clear();
  for (const Json& column : record.at("columns")) {
    split.columns.push_back(column.at("name"));
    const std::string prefix = column_prefix(split.cache_path, split.columns.back());
    const bool whole = size_of(prefix + ".bin") == column.at("bin_bytes").get<uint64_t>() &&
                       size_of(prefix + ".idx") == column.at("idx_bytes").get<uint64_t>();
    if (!whole) return std::nullopt;
  }
  // An entry of before it was kept does not say it.
  split.longest = record.contains("longest") ? record.at("longest").get<int64_t>() : longest_of(split);
  if (record.contains("remarks")) split.remarks = record.at("remarks").get<std::vector<std::string>>();
  return split;
}

struct NamedSplit {
  const char* name;
  std::optional<PreparedSplit> PreparedData::*member;
};
constexpr NamedSplit kSplits[] = {{"train", &PreparedData::train},
                                  {"validation", &PreparedData::validation},
                                  {"test", &PreparedData::test},
                                  {"validation_mismatched", &PreparedData::validation_mismatched},
                                  {"test_mismatched", &PreparedData::test_mismatched}};

FileDescriptor open_folder(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Whether somebody else holds the lock; file systems that cannot lock folders say no.
bool held_by_another(const FileDescriptor& folder) {
  return ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool was_removed(const FileDescriptor& folder) {
  struct stat status {};
  return ::fstat(folder.get(), &status) != 0 || status.st_nlink == 0;
}

// Whether that folder still has this name: an entry that was published meanwhile has another, and a new one
// may be made under the old.
bool lies_at(const FileDescriptor& folder, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(folder.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

void remove_folder(const std::string& path) {
  std::error_code ignored;  // it only takes up room
  fs::remove_all(path, ignored);
}

// Puts `fresh` where `target` is and removes the old one; readers that have it mapped keep their bytes.
void replace_folder(const std::string& fresh, const std::string& target) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    remove_folder(fresh);
    return;
  }
  const std::string aside = fresh + "-old";
  const bool done =
      ::rename(target.c_str(), aside.c_str()) == 0 && ::rename(fresh.c_str(), target.c_str()) == 0;
  const int error = errno;
  remove_folder(aside);
  if (!done) throw system_error(error, "cannot replace", target, ExitCode::kDisk);
}

}  // namespace

Error with_cache_variables(Error error) {
  return error.hint(error.diagnostics().front().hint +
                    "; HFTRAIN_CACHE, else XDG_CACHE_HOME, else HOME says where the cache lies");
}

bool is_entry_name(const std::string& name) {
  constexpr size_t kDigits = 32;  // of a hash (base/hash.h)
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_staging_name(const std::string& name) {
  static const std::regex form(R"(\.staging-(removed-)?[0-9]+-[0-9a-f]+(-old)?)");
  return std::regex_match(name, form);
}

TokenCache::Staging::Staging(const std::string& tokens_folder) {
  create_directories(tokens_folder);
  // A cleaner of another process may take the folder in the moment before it is locked: then the next name is
  // tried.
  for (int attempt = 0;; ++attempt) {
    folder_ =
        tokens_folder + '/' + kStagingPrefix + std::to_string(::getpid()) + '-' + std::to_string(attempt);
    if (::mkdir(folder_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      throw system_error(errno, "cannot create folder", folder_, ExitCode::kDisk);
    }
    lock_ = open_folder(folder_);
    if (lock_ && !held_by_another(lock_) && !was_removed(lock_)) return;
  }
}

TokenCache::Staging::~Staging() {
  remove_folder(folder_);
}

void TokenCache::remove_abandoned() const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tokens_folder_, error)) {
    if (!is_staging_name(entry.path().filename().string())) continue;
    const std::string path = entry.path().string();
    const FileDescriptor folder = open_folder(path);
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 && lies_at(folder, path)) remove_folder(path);
  }
}

bool TokenCache::is_being_made(const std::string& staging_folder) {
  const FileDescriptor folder = open_folder(staging_folder);
  return folder && held_by_another(folder);
}

std::vector<std::string> TokenCache::keys() const {
  std::vector<std::string> keys;
  std::error_code error;
  for (fs::directory_iterator entry(tokens_folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (is_entry_name(name) && entry->is_directory(unreadable)) keys.push_back(name);
  }
  return keys;
}

bool TokenCache::hold(PreparedData& data) {
  std::vector<std::string> folders = {data.folder};
  for (const NamedSplit& split : kSplits) {
    if (!(data.*split.member)) continue;
    // Blocks of another entry, which was given in place of files; or token files of no cache.
    const std::string folder = fs::path((data.*split.member)->cache_path).parent_path().string();
    const bool entry = path_exists(folder + '/' + kCacheRecord);
    if (entry && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
  for (const std::string& folder : folders) {
    std::optional<CacheUse> use = CacheUse::take(folder);
    if (!use) return false;
    data.held.push_back(std::make_shared<const CacheUse>(std::move(*use)));
  }
  return true;
}

std::optional<PreparedData> TokenCache::find(const std::string& key) const {
  return read(folder_of(key));
}

std::optional<PreparedData> TokenCache::read(const std::string& folder) {
  PreparedData data;
  data.folder = folder;
  data.from_cache = true;
  if (!path_exists(data.folder + '/' + kCacheRecord)) return std::nullopt;
  try {
    const Json meta = read_json_file(data.folder + '/' + kCacheRecord);
    const Json::object_t splits = meta.at("splits");
    if (meta.at("format") != kCacheFormat || splits.empty()) return std::nullopt;
    data.facts = meta.at("facts");
    for (const NamedSplit& split : kSplits) {
      const auto record = splits.find(split.name);
      if (record == splits.end()) continue;
      data.*split.member = split_from_json(record->second, data.folder);
      if (!(data.*split.member)) return std::nullopt;
    }
  } catch (const std::exception&) {
    return std::nullopt;  // a damaged meta.json; prepare() says so when it makes the entry again
  }
  return data;
}

std::optional<std::string> TokenCache::lost_file(const std::string& key) const {
  const std::string folder = folder_of(key), meta = folder + '/' + kCacheRecord;
  if (!path_exists(meta)) return meta;
  try {
    const Json record = read_json_file(meta);
    for (const Json& split : record.at("splits")) {
      if (const auto lost = lost_file_of(split, folder)) return lost;
    }
  } catch (const std::exception&) {
    return std::nullopt;  // the record itself is damaged
  }
  return std::nullopt;
}

PreparedData TokenCache::publish(const std::string& key, Staging& staging, const PreparedData& data,
                                 const Json& made_from, bool replace) const {
  Json meta = {{"format", kCacheFormat}, {"key", key}, {"facts", data.facts}, {"splits", Json::object()}};
  for (const NamedSplit& split : kSplits) {
    if (data.*split.member)
      meta["splits"][split.name] = split_to_json(*(data.*split.member), staging.folder());
  }
  meta.update(made_from);
  write_file_atomically(staging.folder() + '/' + kCacheRecord, dump_json(meta) + '\n');
  const std::optional<CacheUse> until_held = CacheUse::take(staging.folder());
  const std::string target = folder_of(key);
  if (::rename(staging.folder().c_str(), target.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY)
      throw system_error(errno, "cannot rename to", target, ExitCode::kDisk);
    if (replace || !find(key)) replace_folder(staging.folder(), target);
  }
  sync_directory(tokens_folder_);
  auto published = find(key);
  if (!published)
    throw Error(ExitCode::kDisk, "the token cache could not be read back")
        .where(target)
        .why("its files are not as they were written")
        .hint("look at that disk");
  published->from_cache = false;
  if (!hold(*published))
    throw Error(ExitCode::kDisk, "the token cache was removed meanwhile")
        .where(target)
        .why("somebody removed it as soon as it was written")
        .hint("start again; `hftrain cache prune` never removes what a run uses");
  return *published;
}

}  // namespace hftrain::data
