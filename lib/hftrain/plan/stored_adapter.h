// The file of an adapter against what a run asks of it: the rules and words that a plan, which sees headers, and a worker, which
// loads, have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/plan/model_facts.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::plan {

// What peft's config does not say (ensure_weight_tying is false in every adapter that it saves again, one of ours among them): a
// matrix that the model ties, and that the file holds whole under all of its names with the same numbers, is one.
architectures::AdapterSpec as_stored(architectures::AdapterSpec spec,
                                     const architectures::ParameterTable& table,
                                     const storage::ModelWeights& file);

// Under which name the file holds a parameter that is trained beside a frozen model; of one that it does not hold, the name
// that peft would look for.
std::string name_in_adapter(const architectures::ParameterSpec& spec, const StoredShapes& stored);

// The first of what cannot be loaded of the file `path` into `trained`, positions in the table: a tensor that it lacks or has in
// another shape, one of two tied names, and one of a module that `spec` names and the model does not have. Error(kData).
std::optional<Error> first_misfit(const architectures::ParameterTable& table,
                                  const std::vector<size_t>& trained, const architectures::AdapterSpec& spec,
                                  const std::string& path, const StoredShapes& stored);

}  // namespace hftrain::plan
