// What the files beside a tokenizer.json say that its pipeline does not do.
#pragma once

#include <string>
#include <vector>

#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

// One sentence for each thing that tokenizer_config.json or special_tokens_map.json says and transformers does when it opens the
// folder, and this program, which goes by the pipeline of tokenizer.json, does not: other ids without a word. Empty where
// transformers saved the folder itself. Reads those files; their mistakes are not told here.
std::vector<std::string> unheeded_settings(const Tokenizer& tokenizer);

}  // namespace hftrain::tokenizer
