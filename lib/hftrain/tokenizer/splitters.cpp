#include "hftrain/tokenizer/splitters.h"

#include <utility>

namespace hftrain::tokenizer {
namespace {

constexpr std::pair<KnownPattern, std::string_view> kPatterns[] = {
    {KnownPattern::kGpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {KnownPattern::kLlama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {KnownPattern::kQwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {KnownPattern::kMistral,
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

}  // namespace

std::optional<KnownPattern> known_pattern(std::string_view regex) {
  for (const auto& [pattern, text] : kPatterns) {
    if (text == regex) return pattern;
  }
  return std::nullopt;
}

namespace splitting {

uint8_t kind_beyond_ascii(char32_t c) {
  using unicode::Category;
  const uint16_t record = unicode::record(c);
  const unicode::CategorySet category = unicode::CategorySet{1} << (record & 31);
  if ((category & unicode::kLetters) != 0) {
    if (category == unicode::bit(Category::Ll)) return kLetter | kLower;
    if ((category & (unicode::bit(Category::Lu) | unicode::bit(Category::Lt))) != 0) return kLetter | kUpper;
    return kLetter | kUpper | kLower;
  }
  if ((category & unicode::kNumbers) != 0) return kNumber;
  if ((category & unicode::kMarks) != 0) return kOther | kUpper | kLower;
  return unicode::is_white_space(c) ? kSpace : kOther;
}

const char* cased_word(const char* p, const char* end, bool needs_lower) {
  const char* upper_end = skip(p, end, kUpper);
  const char* stop = skip(upper_end, end, kLower);
  if (stop > upper_end) return stop;
  if (!needs_lower) return upper_end > p ? upper_end : nullptr;
  // The upper run gives back characters until one of them may be lower as well.
  for (const char* at = upper_end; at > p;) {
    const char* character = unicode::previous(at);
    if ((kind_at(character) & kLower) != 0) return at;
    at = character;
  }
  return nullptr;
}

}  // namespace splitting

}  // namespace hftrain::tokenizer
