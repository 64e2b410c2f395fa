// Everything of a transformers folder beside the weights: config.json, generation_config.json, the
// tokenizer's files.
#pragma once

#include <string>

#include "hftrain/base/json.h"
#include "hftrain/checkpoint/save_target.h"

namespace hftrain::checkpoint {

// generation_config.json as transformers derives it from a model's config.
Json generation_config(const Json& config);

// `tokenizer_folder` may be empty; what in it describes another model's weights is left behind.
void save_model_files(const Json& config, const std::string& tokenizer_folder, SaveTarget& target);

}  // namespace hftrain::checkpoint
