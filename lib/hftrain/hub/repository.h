// A repository of the Hub, and the files of one of its commits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::hub {

enum class Kind { kModel, kDataset };

struct Repository {
  std::string id;  // "org/name"
  Kind kind = Kind::kModel;

  std::string shown() const { return (kind == Kind::kDataset ? "data set " : "") + id; }
  // "/api/models/org/name"
  std::string api() const { return (kind == Kind::kDataset ? "/api/datasets/" : "/api/models/") + id; }
  // "/org/name", "/datasets/org/name": of files and of LFS.
  std::string web() const { return (kind == Kind::kDataset ? "/datasets/" : "/") + id; }
};

struct RemoteFile {
  std::string path;   // relative, safe: see is_safe_path
  uint64_t size = 0;  // bytes
  std::string hash;   // 64 digits: SHA-256 of the bytes (LFS); 40: SHA-1 of them as a blob of git
};

// Below a folder, whoever wrote it: relative, no part empty, "." or "..", nothing that a terminal would not show.
bool is_safe_path(std::string_view path);
// Whether a revision is the whole hash of a commit, and no name.
bool is_commit(std::string_view revision);
// "org/branch" as one part of a URL, with "%2F"; a path with its slashes.
std::string in_url(const std::string& revision);
std::string path_in_url(const std::string& path);

// One page of the answer of /tree/COMMIT?recursive=true, appended; folders are left out. Throws Error(kEnvironment) for what is none, and
// Error(kData) for a path or a hash that is not safe to make a file of.
void read_tree_page(const Json& page, const std::string& origin, std::vector<RemoteFile>& files);
// The commit of the answer of /revision/NAME: 40 hexadecimal digits. Errors as above.
std::string read_commit(const Json& answer, const std::string& origin);
// <URL>; rel="next" of a header Link; empty: this was the last page.
std::string next_page(const std::string& link);

}  // namespace hftrain::hub
