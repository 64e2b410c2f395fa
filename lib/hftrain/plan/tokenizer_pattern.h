// Tokenizers of families for which transformers does not follow tokenizer.json (Architecture::tokenizer_pattern).
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::plan {

// How a tokenizer.json differs from what transformers makes of it, in words; empty: it does not. Its post-processor and its tokens are
// taken in any case.
std::string unlike_pattern(const Json& tokenizer, const std::string& pattern);

}  // namespace hftrain::plan
