// Finished samples on disk, named by the hash of everything they were made from.
//
//   <cache>/tokens/<key>/SPLIT.{bin,idx}: input_ids; SPLIT is train, validation or test, of second sets with _mismatched behind it
//   <cache>/tokens/<key>/SPLIT.<column>.{bin,idx}: further columns of a task
//   <cache>/tokens/<key>/meta.json: samples, columns, sizes, what it was made from
//   <cache>/hashes/…: what FileHashes remembers
//
// An entry appears by one rename with meta.json in it, so a killed prepare leaves nothing that looks
// finished.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/prepare_request.h"

namespace hftrain::data {

// Entries that are being made, or removed, begin with it.
inline constexpr const char* kStagingPrefix = ".staging-";

// Whether a folder of the cache has a name that this gives to entries, or to unfinished ones: whatever else lies there is somebody
// else's, and is left alone.
bool is_entry_name(const std::string& name);
bool is_staging_name(const std::string& name);

// Changes when the same request would give other samples than before.
inline constexpr int kCacheFormat = 4;

// `error`, of the cache's folder, with what names that folder: nobody may have done so.
Error with_cache_variables(Error error);

class TokenCache {
 public:
  explicit TokenCache(const std::string& cache_folder) : tokens_folder_(cache_folder + "/tokens") {}

  std::string folder_of(const std::string& key) const { return tokens_folder_ + '/' + key; }
  // The entry, if it is there and all its files have their recorded sizes.
  std::optional<PreparedData> find(const std::string& key) const;
  // The same of one that lies in that folder, wherever it is.
  static std::optional<PreparedData> read(const std::string& folder);
  // Of an entry that find() does not take: a file that is recorded and gone; nothing where all are there, and one is damaged.
  std::optional<std::string> lost_file(const std::string& key) const;

  // Keeps the entry and those that its blocks lie in from being removed while `data` or a copy lives. False
  // when one of them is no longer there.
  static bool hold(PreparedData& data);

  // A folder to make an entry in. Holds a lock while it lives, by which others tell that it is in use;
  // removes the folder unless published.
  class Staging {
   public:
    explicit Staging(const std::string& tokens_folder);
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging();
    const std::string& folder() const { return folder_; }

   private:
    std::string folder_;
    FileDescriptor lock_;
  };

  // Removes what killed processes left behind.
  void remove_abandoned() const;
  // Whether a process works in this folder of an unfinished entry.
  static bool is_being_made(const std::string& staging_folder);
  // Of all entries, damaged ones too, in no order.
  std::vector<std::string> keys() const;
  // Writes meta.json for `data`, whose cache_paths lie in the staging folder or elsewhere, and makes it the
  // entry of `key`, which is held. When another process was faster its entry stays, unless `replace`.
  // `made_from`: keys for meta.json that say what it was made from.
  PreparedData publish(const std::string& key, Staging& staging, const PreparedData& data,
                       const Json& made_from, bool replace) const;

  const std::string& tokens_folder() const { return tokens_folder_; }

 private:
  std::string tokens_folder_;
};

}  // namespace hftrain::data
