// Content hashes of files, remembered so that an unchanged file is not read again.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::data {

// Remembers one small file per hashed file in `folder`: size, times, inode and hash. A memory counts only
// while all of them agree, and is not written for a file that changed within the last two seconds (it could
// change again within the resolution of its time stamp). An unwritable folder only costs the time of hashing
// again.
class FileHashes {
 public:
  explicit FileHashes(std::string folder) : folder_(std::move(folder)) {}
  // XXH3-128 of the content; a missing file is an Error (exit code 4).
  std::string hash(const std::string& path) const;

 private:
  std::string folder_;
};

// What of a tokenizer decides its tokens: tokenizer.json (`place`, or in that folder) and, when there, the files beside it that
// change what it does.
Json key_of_tokenizer(const std::string& place, const FileHashes& hashes);

}  // namespace hftrain::data
