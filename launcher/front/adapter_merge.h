// An adapter and the model that it stands beside, as one plain model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/storage/model_export.h"

namespace hftrain::front {

// Of a base in the hub cache: what wins over the adapter's revision and the cache of the environment.
struct BaseChoice {
  std::optional<std::string> revision = std::nullopt, cache_dir = std::nullopt;
};

// Writes base + scale · up·down of every adapted matrix, and the modules that the adapter holds whole, to `target`: a
// folder that from_pretrained opens, with the tokenizer of the adapter's folder where it has one. Numbers are computed
// in float32 and stored in the base model's dtypes. `folder` is an adapter's, a checkpoint or a final folder. Errors carry
// exit code 4: no adapter, no base model, an adapter that does not fit it, a damaged file; and 2: a revision of a base that
// is a folder. `between` is that of ExportOptions, and of the verification of a checkpoint.
storage::ExportResult merge_adapter(const std::string& folder, const std::string& target,
                                    int64_t max_shard_bytes, const BaseChoice& choice,
                                    const Environment& environment, const std::function<void()>& between);

// An Error (exit code 4) where an adapter lies in the parts of FSDP, which make no folder of a model.
void refuse_adapter_in_parts(const std::string& folder);

// Whether its base model is one, which no cache is searched for.
bool stands_beside_folder(const std::string& folder);

// Keys of its adapter_config.json that nothing here reads.
std::vector<std::string> unknown_keys_of_adapter(const std::string& folder);

}  // namespace hftrain::front
