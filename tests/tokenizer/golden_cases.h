// Compares a tokenizer with what the PyPI `tokenizers` package wrote down about it: a folder with
// tokenizer.json and cases.jsonl, one text per line (scripts/golden/tokenizer_pipelines.py, record()).
#pragma once

#include <string>

namespace hftrain::tokenizer {

struct Comparison {
  int cases = 0;
  int differences = 0;
  std::string first_difference;  // what differs, for a person
};

Comparison compare_with_cases(const std::string& folder);

}  // namespace hftrain::tokenizer
