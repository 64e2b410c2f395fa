// Compares what a tokenizer makes of one text and two, of words, of truncation, windows and padding, with
// what the PyPI `tokenizers` package wrote down: a folder with tokenizer.json and inputs.jsonl, an input per
// line (scripts/golden/tokenizer_inputs.py).
#pragma once

#include <string>

#include "tokenizer/golden_cases.h"

namespace hftrain::tokenizer {

// Inputs that the package refuses are not counted as cases.
Comparison compare_with_inputs(const std::string& folder);

}  // namespace hftrain::tokenizer
