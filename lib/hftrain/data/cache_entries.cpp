#include "hftrain/data/cache_entries.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/cache_use.h"
#include "hftrain/data/token_cache.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

// A cache that nobody has written to is empty; one that cannot be looked at is not.
void require_readable(const std::string& tokens_folder) {
  std::error_code error;
  const fs::directory_iterator first(tokens_folder, error);
  if (error && error != std::errc::no_such_file_or_directory)
    throw with_cache_variables(system_error(error.value(), "cannot look into", tokens_folder));
}

uint64_t bytes_below(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;  // files may vanish meanwhile
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    const uintmax_t size = entry->is_regular_file(unreadable) ? entry->file_size(unreadable) : 0;
    if (!unreadable) bytes += size;
  }
  return bytes;
}

int64_t modified(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<int64_t>(status.st_mtim.tv_sec) : 0;
}

// Sources and tokenizer as prepare() has recorded them.
void read_record(const std::string& path, CacheEntry& entry) {
  try {
    const Json meta = read_json_file(path);
    if (meta.contains("sources")) meta["sources"].get_to(entry.sources);
    if (meta.contains("tokenizer")) meta["tokenizer"].get_to(entry.tokenizer);
  } catch (const std::exception&) {
    entry.whole = false;
  }
}

CacheEntry read_entry(const TokenCache& cache, const std::string& key) {
  CacheEntry entry;
  entry.key = key;
  entry.folder = cache.folder_of(key);
  const std::string record = entry.folder + '/' + kCacheRecord;
  entry.bytes = bytes_below(entry.folder);
  entry.last_used = modified(path_exists(record) ? record : entry.folder);
  entry.whole = cache.find(key).has_value();
  read_record(record, entry);
  entry.in_use = CacheRemoval(entry.folder).answer() == CacheRemoval::Answer::kInUse;
  return entry;
}

// The latest used first.
std::vector<CacheEntry> entries_of(const TokenCache& cache) {
  std::vector<CacheEntry> entries;
  for (const std::string& key : cache.keys()) entries.push_back(read_entry(cache, key));
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return a.last_used != b.last_used ? a.last_used > b.last_used : a.key < b.key;
  });
  return entries;
}

std::vector<UnfinishedEntry> unfinished_of(const TokenCache& cache) {
  std::vector<UnfinishedEntry> found;
  std::error_code error;
  for (fs::directory_iterator entry(cache.tokens_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!is_staging_name(entry->path().filename().string())) continue;
    found.push_back({path, bytes_below(path), TokenCache::is_being_made(path)});
  }
  return found;
}

// The folder goes out of sight first; remove_abandoned() would find what a kill leaves of it.
void remove_entry(const std::string& tokens_folder, const CacheEntry& entry) {
  const std::string aside =
      tokens_folder + '/' + kStagingPrefix + "removed-" + std::to_string(::getpid()) + '-' + entry.key;
  if (::rename(entry.folder.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return;
    throw with_cache_variables(system_error(errno, "cannot remove", entry.folder));
  }
  // A preparation that tidies up may be at it, too, and take a file from under this.
  constexpr int kTries = 5;
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    fs::remove_all(aside, error);
    if (!path_exists(aside)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw with_cache_variables(system_error(error.value(), "cannot remove", aside));
}

class Pruning {
 public:
  Pruning(const std::string& cache_folder, const PruneRequest& request)
      : request_(request), cache_(cache_folder) {}

  PruneResult run() {
    require_readable(cache_.tokens_folder());
    // One at a time on a machine, so that each counts what the one before has left.
    const FileDescriptor folder(::open(cache_.tokens_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return std::move(result_);
    while (::flock(folder.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    remove_unfinished();
    std::vector<CacheEntry> entries = entries_of(cache_);
    for (const CacheEntry& entry : entries) result_.bytes_left += entry.bytes;
    std::reverse(entries.begin(), entries.end());  // the least recently used first
    for (const CacheEntry& entry : entries) {
      if (is_to_go(entry)) remove(entry);
    }
    return std::move(result_);
  }

 private:
  void remove_unfinished() {
    for (const UnfinishedEntry& entry : unfinished_of(cache_)) {
      if (!entry.in_use) result_.removed_unfinished.push_back(entry);
    }
    if (!request_.dry_run) cache_.remove_abandoned();
  }

  bool is_to_go(const CacheEntry& entry) const {
    const bool old = request_.unused_seconds && request_.now - entry.last_used > *request_.unused_seconds;
    const bool too_much = request_.most_bytes && result_.bytes_left > *request_.most_bytes;
    return !entry.whole || old || too_much;
  }

  void remove(const CacheEntry& entry) {
    const CacheRemoval removal(entry.folder);
    const bool without_record = !path_exists(entry.folder + '/' + kCacheRecord);
    if (removal.answer() == CacheRemoval::Answer::kInUse) {
      result_.kept_in_use.push_back(entry);
      return;
    }
    if (removal.answer() == CacheRemoval::Answer::kGone && !without_record) return;
    if (!request_.dry_run) remove_entry(cache_.tokens_folder(), entry);
    result_.bytes_left -= entry.bytes;
    result_.removed.push_back(entry);
  }

  const PruneRequest& request_;
  TokenCache cache_;
  PruneResult result_;
};

}  // namespace

CacheContents list_cache(const std::string& cache_folder) {
  const TokenCache cache(cache_folder);
  require_readable(cache.tokens_folder());
  return {cache.tokens_folder(), entries_of(cache), unfinished_of(cache)};
}

PruneResult prune_cache(const std::string& cache_folder, const PruneRequest& request) {
  return Pruning(cache_folder, request).run();
}

}  // namespace hftrain::data
