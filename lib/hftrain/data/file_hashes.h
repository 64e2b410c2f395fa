// Content hashes of files, remembered so that an unchanged file is not read again.
#pragma once

#include <string>

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

}  // namespace hftrain::data
