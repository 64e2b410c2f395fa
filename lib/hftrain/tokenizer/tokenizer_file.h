// Where a tokenizer lies.
#pragma once

#include <string>

namespace hftrain::tokenizer {

// tokenizer.json of the folder `place`, or `place` itself where it is a file. Error (exit code 4) where there is none, which says
// how transformers makes one of the files of older tokenizers.
std::string tokenizer_file(const std::string& place);

}  // namespace hftrain::tokenizer
