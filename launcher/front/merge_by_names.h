// Merging an adapter into a model whose tensors keep their names and its config: adapted matrices and namesakes alone change.
#pragma once

#include <optional>
#include <vector>

#include "hftrain/storage/model_export.h"
#include "hftrain/storage/stored_weights.h"
#include "launcher/front/adapter_weights.h"

namespace hftrain::front {

// All tensors of the merged model, however the base model calls them. Nothing where a table of the model says more (it is
// known here), or the adapter holds something that the base model has no namesake of. Both outlive the tensors. An Error
// (exit code 4) for embeddings that may be tied to outputs, and were trained apart.
std::optional<std::vector<storage::ExportedTensor>> merged_by_names(const storage::StoredWeights& base,
                                                                    AdapterWeights& adapter);

}  // namespace hftrain::front
