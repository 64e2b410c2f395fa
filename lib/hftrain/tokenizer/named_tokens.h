// The special tokens of a tokenizer's folder, as AutoTokenizer of transformers 5.17 puts them together
// (tokenization_utils_base.py, _from_pretrained; models/auto/tokenization_auto.py).
#pragma once

#include <array>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::tokenizer {

inline constexpr std::array<const char*, 7> kTokenRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                           "pad_token", "cls_token", "mask_token"};

// The class of transformers, without "Fast", that opens a folder whose files name `named` (empty: none) for a model of that type
// (empty: no config.json lies there); "TokenizersBackend" for one that adds nothing to what the files say.
std::string class_that_opens(std::string named, const std::string& model_type);

// One file of a tokenizer's folder that holds settings; empty where none is there. Errors (exit code 4) where it cannot be read, or holds
// no JSON object.
Json settings_in(const std::string& path);

// tokenizer_config.json of the folder, and in the place of its keys those of special_tokens_map.json, which transformers reads where
// the former has no added_tokens_decoder. Errors as those of settings_in.
Json named_in_files(const std::string& folder);

// The same, with the token that the class has by itself for each role of which neither says anything (null is a word: no token). Most
// folders written before 2020 need it: of bert-base-uncased no file says which token is [MASK].
Json named_tokens(const std::string& folder);

}  // namespace hftrain::tokenizer
