// What the files of a model say of matrices that its config ties.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::plan {

// In which transformers opens such files where nobody asks for a type, in torch's words: that of the config, else of their first
// numbers by name; float32 where it is none that a model is trained in.
std::string opened_dtype(const Json& config, const storage::ModelWeights& weights);

// As transformers: an output matrix that the files keep beside the embedding with other numbers is one of its own, and the model
// returned has it. Else the model that was given, its own matrix tied where the family ties whatever a config says. They are compared in the type `dtype`, in which it has them by then. Error(kData)
// where the family cannot have it.
std::shared_ptr<const architectures::Architecture> as_stored(
    std::shared_ptr<const architectures::Architecture> architecture, const storage::ModelWeights& weights,
    const std::string& origin, const std::string& dtype);

// Parameters that the files do not hold, under any name.
std::vector<std::string> lacking_parameters(const architectures::Architecture& architecture,
                                            const storage::ModelWeights& weights);

}  // namespace hftrain::plan
