// Merging an adapter into the model that a config describes: a new head, grown embeddings, one of two tied matrices.
#pragma once

#include <string>
#include <vector>

#include "hftrain/storage/model_export.h"
#include "hftrain/storage/stored_weights.h"
#include "launcher/front/adapter_weights.h"

namespace hftrain::front {

struct MergedModel {
  std::vector<storage::ExportedTensor> tensors;
  std::string config;  // to be written, where it stands in neither folder; empty: one of theirs is it
};

// The adapter's tensors where it holds them, the base model's otherwise; both outlive what is returned. An Error (exit code
// 4) for what has no place in the model, is in neither folder, or is half of two tied matrices.
MergedModel merged_by_table(const storage::StoredWeights& base, AdapterWeights& adapter);

}  // namespace hftrain::front
