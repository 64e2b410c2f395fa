// Parts of a pipeline that classes of transformers 5 build anew when they open a tokenizer.json, whatever that has there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::tokenizer {

// A token and its id; unset: the vocabulary has none, or nobody knows.
struct FileToken {
  std::string content;
  std::optional<int64_t> id;
};

// Parts of tokenizer.json; null: the file has none.
struct FileParts {
  Json normalizer, pre_tokenizer, post_processor, unk_token = nullptr;
  std::map<std::string, FileToken> roles = {};  // as named_tokens() gives them, by role
};

// The normalizer or pre-tokenizer of that type: `part` itself, or the first in what it is a sequence of; null: there is none.
Json part_of_type(const Json& part, const std::string& type);

// A sentence for each of them in whose place `tokenizer_class` (as class_that_opens gives it) has one of another kind, and for
// tokens around every text and of unknown words that are not those of their roles. Of what else kinds are set to, a Metaspace's
// prepend_scheme alone is compared. Empty for a class that is not known or takes the file as it is.
std::vector<std::string> replaced_parts(const std::string& tokenizer_class, const FileParts& parts);

}  // namespace hftrain::tokenizer
