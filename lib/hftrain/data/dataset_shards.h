// Files that are parts of one set, by their names: NAME-00001-of-00003*.
#pragma once

#include <optional>
#include <string>

#include "hftrain/data/path_patterns.h"

namespace hftrain::data {

struct Shard {
  std::string prefix;  // the path up to the dash before the numbers
  int number = 0;      // from 0, or from 1
  int total = 0;
};

// By the last such numbers of its name; nothing of another file.
std::optional<Shard> shard_of(const std::string& path);

// An Error (exit code 4) with `where` when one of `chosen` belongs to a set of which a part is not among `all`, the files below the
// folder: half of a data set would be trained on, and nobody be told.
void require_all_shards(const RelativePaths& chosen, const RelativePaths& all, const std::string& where);

}  // namespace hftrain::data
