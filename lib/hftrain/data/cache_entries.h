// The token cache as its owner sees it: what lies there, and what to remove.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hftrain::data {

struct CacheEntry {
  std::string key;  // its folder's name, a hash of everything the entry was made from
  std::string folder;
  std::vector<std::string> sources;  // absolute paths; empty for an entry of an earlier version
  std::string tokenizer;             // absolute path; empty when the sources hold token ids, or as above
  uint64_t bytes = 0;
  int64_t last_used = 0;  // Unix seconds
  bool whole = true;      // false: damaged, and made again when it is wanted
  bool in_use = false;    // by a process of this machine, or of another where the file system has locks
};

// What a prepare that is not done holds, or one that was killed has left.
struct UnfinishedEntry {
  std::string folder;
  uint64_t bytes = 0;
  bool in_use = false;
};

struct CacheContents {
  std::string folder;               // of the entries
  std::vector<CacheEntry> entries;  // the latest used first
  std::vector<UnfinishedEntry> unfinished;
};

// A cache that is not there is empty; one that cannot be looked into is an Error(kEnvironment) for both.
CacheContents list_cache(const std::string& cache_folder);

struct PruneRequest {
  std::optional<int64_t> unused_seconds;  // entries that were not used for longer go
  std::optional<uint64_t> most_bytes;     // then those that were used least recently, until this is left
  int64_t now = 0;                        // Unix seconds
  bool dry_run = false;
};

struct PruneResult {
  std::vector<CacheEntry> removed;
  std::vector<CacheEntry> kept_in_use;  // that would have gone
  std::vector<UnfinishedEntry> removed_unfinished;
  uint64_t bytes_left = 0;  // of all entries
};

// Removes those entries, damaged ones and what killed processes have left; never one that is in use. An entry
// goes by one rename, so a killed prune leaves nothing that looks whole, and several may run at once. What
// cannot be removed is an Error (kEnvironment, or kDisk).
PruneResult prune_cache(const std::string& cache_folder, const PruneRequest& request);

}  // namespace hftrain::data
