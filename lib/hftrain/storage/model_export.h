// A plain transformers folder out of a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hftrain/storage/box.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/safetensors_file.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::storage {

struct ExportResult {
  size_t files = 0;
  size_t tensors = 0;
  uint64_t bytes = 0;
};

// A tensor of the target; `read` fills the bytes of `rows` of it, dense and row-major.
struct ExportedTensor {
  TensorEntry entry;
  std::function<void(const Box& rows, std::span<char> bytes)> read;
};

struct ExportOptions {
  int64_t max_shard_bytes = 0;
  std::vector<ExportedTensor> tensors =
      {};                 // in the place of the checkpoint's, which are written where there are none
  std::string over = {};  // a folder whose tokenizer files and configs stand in the place of the model's
  std::map<std::string, std::string> texts = {};  // files by name, in the place of both
  const StoredWeights* weights = nullptr;         // of the checkpoint, when they are opened already
  std::function<void()> between =
      {};  // called again and again, by several threads: what it throws ends the export
};

// Writes configs, tokenizer files and weights of `checkpoint` (or of any model folder), in whichever layout,
// to `target` as transformers has them, sharded anew by max_shard_bytes; a few megabytes at a time are in
// memory. The target appears whole or not at all. What the manifest, if there is one, says of these files is
// verified first: Error(kData) names the bad one. Error(kUsage) when `target` exists and is not an empty
// folder.
ExportResult export_model(FileSystem& files, const std::string& checkpoint, const std::string& target,
                          const ExportOptions& options);

}  // namespace hftrain::storage
