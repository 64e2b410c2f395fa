// The special tokens of a tokenizer's folder, as AutoTokenizer of transformers 5.17 puts them together
// (tokenization_utils_base.py, _from_pretrained).
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::tokenizer {

// A special token is written as text, or as an object with its flags. Nothing for anything else, as null.
std::optional<std::string> token_text(const Json& token);

// One file of a tokenizer's folder that holds settings; empty where none is there. Errors (exit code 4) where it cannot be read, or holds
// no JSON object.
Json settings_in(const std::string& path);

// tokenizer_config.json of the folder, and in the place of its keys those of special_tokens_map.json, which transformers reads where
// the former has no added_tokens_decoder. Errors as those of settings_in.
Json named_in_files(const std::string& folder);

// The class that AutoTokenizer opens the folder with, as tokenizer_classes.h has it. Errors as those of settings_in.
std::string class_of_folder(const std::string& folder);

// named_in_files() with the token that the class has by itself for each role of which neither says anything (null is a word: no token). Most
// folders written before 2020 need it: of bert-base-uncased no file says which token is [MASK].
Json named_tokens(const std::string& folder);

// The folder's tokens of other names than the roles', such as image_token: keys of tokenizer_config.json and special_tokens_map.json, and
// extra_special_tokens where that is an object, whose names may be any, roles among them. Errors as those of settings_in.
Json model_specific_tokens(const std::string& folder);

}  // namespace hftrain::tokenizer
