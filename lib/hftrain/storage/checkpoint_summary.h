// What is in a checkpoint or a model folder, from its headers alone: nothing is hashed and no tensor is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/storage/manifest.h"
#include "hftrain/storage/safetensors_file.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::storage {

struct TensorSummary {
  TensorEntry entry;               // of the whole tensor
  std::vector<std::string> files;  // that hold it or its slices, relative to the folder, sorted
};

// Of a checkpoint that hftrain did not write.
struct OtherWriter {
  std::string name;             // "transformers' Trainer"
  std::optional<int64_t> step;  // when the folder says it
};

struct CheckpointSummary {
  std::string path;
  std::optional<Manifest> manifest;  // absent in a plain model folder
  std::vector<std::string>
      missing;  // files that the manifest names; tensors that lay in them are smaller than they were, or not below
  std::optional<OtherWriter> writer;
  std::vector<TensorSummary> weights;
  std::vector<TensorSummary> optimizer;  // empty without an optimizer/ folder
};

// Error(kData) when the folder has no weights, or its manifest or a header in it is damaged.
CheckpointSummary summarize_checkpoint(const std::string& folder);
// By name, with the files that hold each.
std::vector<TensorSummary> summarize_weights(const StoredWeights& weights);

// For `checkpoint inspect` and its --json.
std::string render_summary(const CheckpointSummary& summary);
Json summary_to_json(const CheckpointSummary& summary);

}  // namespace hftrain::storage
