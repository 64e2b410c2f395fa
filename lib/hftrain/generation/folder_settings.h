// What a model's folder says of how it generates, under the names of settings().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::generation {

// What a model's folder says of generating, as transformers reads it: its generation_config.json or, where there is none,
// settings_of_model_config of its config.json. Empty for a folder with neither.
struct FolderSettings {
  Json values = Json::object();
  std::string origin;  // the file
};
// Error (exit code 4): a file that is no JSON object.
FolderSettings read_folder_settings(const std::string& folder);
// `text` is that of a generation_config.json at `origin`.
FolderSettings settings_from_text(std::string_view text, const std::string& origin);
// The keys of generating in a config.json, where older folders keep them, as GenerationConfig.from_model_config of
// transformers 5.17 makes a generation config of the file; `_from_model_config` says so.
Json settings_of_model_config(const Json& config);

// Keys of a generation config that have a value and that nobody reads: neither settings() nor what transformers 5.17 has beside
// them. Its own begin with '_'.
std::vector<std::string> unknown_settings(const Json& settings);

// Takes ids that are no tokens out of the special tokens of a file's settings: files name such, and never use them. Gives
// what was taken, {name: id or ids}.
Json take_unknown_tokens(Json& settings, int64_t vocabulary);

}  // namespace hftrain::generation
