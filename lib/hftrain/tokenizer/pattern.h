// What Split and Replace look for: a literal text, one of the well-known split patterns, or any other regular
// expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/aligned_text.h"

namespace hftrain::tokenizer {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Matches from left to right and what lies between them; together they cover the text. Empty text has no
  // stretches.
  virtual std::vector<Stretch> find(std::string_view text) const = 0;

  static std::shared_ptr<const Pattern> literal(std::string text);
  // Throws std::invalid_argument with the reason when the expression cannot be honoured.
  static std::shared_ptr<const Pattern> regex(const std::string& expression);
};

// The characters for which `is` holds are the matches.
std::vector<Stretch> find_characters(std::string_view text, bool (*is)(char32_t));

enum class DelimiterBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// The pieces [begin, end) that splitting at the matches leaves.
std::vector<std::pair<size_t, size_t>> split_at(const std::vector<Stretch>& stretches,
                                                DelimiterBehavior behavior);

}  // namespace hftrain::tokenizer
