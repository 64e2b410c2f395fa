// Any regular expression of a tokenizer.json, run by PCRE2 with the character classes of Unicode 16 written
// out, because the engine's own are older. What the two dialects understand differently is rewritten or
// refused.
#pragma once

#include <memory>
#include <string>

#include "hftrain/tokenizer/pattern.h"

namespace hftrain::tokenizer {

class RegexPattern : public Pattern {
 public:
  // Throws std::invalid_argument with the reason.
  explicit RegexPattern(const std::string& expression);
  std::vector<Stretch> find(std::string_view text) const override;

 private:
  std::shared_ptr<void> code_;  // pcre2_code; immutable, shared by all threads
};

// The expression with \p{…}, \s, \w, \d, \h and their negations as explicit ranges.
std::string expand_classes(const std::string& expression);

}  // namespace hftrain::tokenizer
