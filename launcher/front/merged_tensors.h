// What both ways of merging an adapter have in common: where a merged tensor's numbers come from, and what is said when they
// cannot be merged.
#pragma once

#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/model_export.h"
#include "hftrain/storage/stored_weights.h"
#include "launcher/front/adapter_weights.h"

namespace hftrain::front {

// Hints of cannot_merge().
inline constexpr const char* kMergeByPeft = "merge it by peft's merge_and_unload()";
inline constexpr const char* kMergeUntied =
    "merge it by peft's merge_and_unload() into a model whose tie_word_embeddings is false";
inline constexpr const char* kMergeByConfig =
    "write the config of the model with this head beside the adapter: its architectures and labels";

// Exit code 4; about the adapter's file.
Error cannot_merge(const AdapterWeights& adapter, const std::string& why,
                   const std::string& hint = kMergeByPeft);

// The config.json that describes the merged model: beside the adapter, else the base model's.
std::string config_of_merged(const AdapterWeights& adapter, const std::string& base_folder);
std::string model_type_of(const Json& config);  // empty: it says none
bool describes_known_head(const Json& config);

// A tensor of the base model, with its adapter added; one that the adapter holds whole. What they are given outlives the
// tensor, but for `entry`, which says how it is to be stored.
storage::ExportedTensor merged_from_base(const storage::StoredWeights& base,
                                         const storage::TensorEntry& stored, storage::TensorEntry entry,
                                         AdapterWeights& adapter);
// A table of the base model with fewer columns than the merged one has, where its vocabulary grew: zeros stand in the others.
storage::ExportedTensor widened_from_base(const storage::StoredWeights& base,
                                          const storage::TensorEntry& stored, storage::TensorEntry entry);
storage::ExportedTensor merged_from_adapter(const AdapterWeights& adapter, const storage::TensorEntry& whole,
                                            const storage::TensorEntry& entry);

}  // namespace hftrain::front
