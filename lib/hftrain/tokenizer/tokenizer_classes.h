// What transformers' tokenizer classes do that no file says (transformers:models/*/tokenization_*.py and models/auto/tokenization_auto.py
// of 5.17).
#pragma once

#include <array>
#include <string>

namespace hftrain::tokenizer {

inline constexpr std::array<const char*, 7> kTokenRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                           "pad_token", "cls_token", "mask_token"};

// The tokens that a class's constructor has for what it is not given, in the order of kTokenRoles; null: none.
using OwnTokens = std::array<const char*, kTokenRoles.size()>;

// One with "Fast" behind its name is the same class.
std::string class_without_fast(std::string name);

// The class that AutoTokenizer opens a folder with whose files name `named` (empty: none), for a model of that type (empty: no
// config.json lies there); "TokenizersBackend" for one that adds nothing to what the files say.
std::string class_that_opens(std::string named, const std::string& model_type);

// Null: the class has no such tokens, or is not known.
const OwnTokens* tokens_of_class(const std::string& tokenizer_class);

// Whether the class gives types of tokens where model_input_names of tokenizer_config.json is silent. Before 5.0 all but those of a few
// families did.
bool class_gives_types(const std::string& tokenizer_class);

}  // namespace hftrain::tokenizer
