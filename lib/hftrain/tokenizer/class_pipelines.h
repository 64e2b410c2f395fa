// Parts of a pipeline that classes of transformers 5 build anew when they open a tokenizer.json, whatever that has there.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::tokenizer {

// Parts of tokenizer.json; null: the file has none.
struct FileParts {
  Json normalizer, pre_tokenizer, post_processor;
};

// A sentence for each of them in whose place `tokenizer_class` (as class_that_opens gives it) has one of another kind. What
// kinds are set to is not compared. Empty for a class that is not known or takes the file as it is.
std::vector<std::string> replaced_parts(const std::string& tokenizer_class, const FileParts& parts);

}  // namespace hftrain::tokenizer
