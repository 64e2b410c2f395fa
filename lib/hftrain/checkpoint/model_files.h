// Everything of a transformers folder beside the weights: config.json, generation_config.json, the
// tokenizer's files.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/storage/checkpoint_folder.h"

namespace hftrain::checkpoint {

// generation_config.json as transformers derives it from a model's config.
Json generation_config(const Json& config);

// Names of files in `tokenizer_folder` that belong to the tokenizer and travel with every saved model.
std::vector<std::string> tokenizer_files(const std::string& tokenizer_folder);

// `tokenizer_folder` may be empty.
void save_model_files(const Json& config, const std::string& tokenizer_folder, storage::StagedFiles& target);

}  // namespace hftrain::checkpoint
