// Who reads an entry of the token cache says so, so that nobody removes it meanwhile.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"

namespace hftrain::data {

inline constexpr const char* kCacheRecord = "meta.json";  // the last file of an entry

// The record of an entry. Error(kData): it cannot be read.
Json record_of(const std::string& folder);

// A lock on the record of an entry, shared by all who use it; the kernel lets go of it when the process ends.
// Movable. Where a file system knows no locks nothing is held, and `hftrain cache prune` finds the entry
// idle.
class CacheUse {
 public:
  // Nothing when the entry is not there, or is being removed. Taking it counts as a use: the record's time
  // says when the entry was used last.
  static std::optional<CacheUse> take(const std::string& folder);

 private:
  explicit CacheUse(FileDescriptor record) : record_(std::move(record)) {}
  FileDescriptor record_;
};

// The other side: holds an entry that nobody uses, so that nobody begins to.
class CacheRemoval {
 public:
  enum class Answer { kFree, kInUse, kGone };
  explicit CacheRemoval(const std::string& folder);
  Answer answer() const { return answer_; }

 private:
  FileDescriptor record_;
  Answer answer_ = Answer::kGone;
};

}  // namespace hftrain::data
