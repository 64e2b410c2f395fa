// A plain transformers folder out of a checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/storage/file_system.h"

namespace hftrain::storage {

struct ExportResult {
  size_t files = 0;
  size_t tensors = 0;
  uint64_t bytes = 0;
};

// Writes configs, tokenizer files and weights of `checkpoint` (or of any model folder), in whichever layout,
// to `target` as transformers has them, sharded anew by `max_shard_bytes`; a few megabytes at a time are in
// memory. The target appears whole or not at all. What the manifest, if there is one, says of these files is
// verified first: Error(kData) names the bad one. Error(kUsage) when `target` exists and is not an empty
// folder.
ExportResult export_model(FileSystem& files, const std::string& checkpoint, const std::string& target,
                          int64_t max_shard_bytes);

}  // namespace hftrain::storage
