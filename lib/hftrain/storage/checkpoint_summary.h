// What is in a checkpoint or a model folder, from its headers alone: nothing is hashed and no tensor is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/storage/manifest.h"
#include "hftrain/storage/safetensors_file.h"

namespace hftrain::storage {

struct TensorSummary {
  TensorEntry entry;               // of the whole tensor
  std::vector<std::string> files;  // that hold it or its slices, relative to the folder, sorted
};

struct CheckpointSummary {
  std::string path;
  std::optional<Manifest> manifest;  // absent in a plain model folder
  std::vector<TensorSummary> weights;
  std::vector<TensorSummary> optimizer;  // empty without an optimizer/ folder
};

// Error(kData) when the folder has no weights, or its manifest or a header in it is damaged.
CheckpointSummary summarize_checkpoint(const std::string& folder);

// For `checkpoint inspect` and its --json.
std::string render_summary(const CheckpointSummary& summary);
Json summary_to_json(const CheckpointSummary& summary);

}  // namespace hftrain::storage
