// The data of a smoke run: the user's own, cut to what a minute can take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/data/data_files.h"

namespace hftrain::front {

// Files that together are small stay as they are. Of others the first rows (sequences, of token files) are
// written below `folder`, read in the user's formats and with all their rules, and the copy's path is
// returned. `most_bytes` is about the size of the copy. Files that cannot be read are an Error (kData,
// kUsage).
std::vector<std::string> cut_data(const std::vector<std::string>& patterns, data::Split split,
                                  bool keep_linebreaks, uint64_t most_bytes, const std::string& folder);

}  // namespace hftrain::front
