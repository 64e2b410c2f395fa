// Files into the store of large files (git LFS): what it has already is not sent, parts are sent one after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/hub/api.h"

namespace hftrain::hub {

struct LargeFile {
  std::string local;   // where it lies
  std::string sha256;  // 64 digits
  uint64_t size = 0;   // bytes
};

// Returns when the store has all of them. What was sent stays there for the next call, as nobody sees it before a commit
// names it. Throws Api::refusal().
void upload_large_files(Api& api, const Repository& repository, const std::string& revision,
                        const std::vector<LargeFile>& files);

}  // namespace hftrain::hub
