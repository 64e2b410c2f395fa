#include "hftrain/tokenizer/unicode/python_text.h"

#include <vector>

#include "hftrain/tokenizer/unicode/normal_forms.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer::unicode {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

bool in_range(char32_t c, char32_t first, char32_t last) {
  return first <= c && c <= last;
}

// Unicode's Case_Ignorable: marks, formats, modifiers, and what stands inside words.
bool is_case_ignorable(char32_t c) {
  constexpr CategorySet kIgnorable =
      bit(Category::Mn) | bit(Category::Me) | bit(Category::Cf) | bit(Category::Lm) | bit(Category::Sk);
  constexpr std::u32string_view kInsideWords =
      U"':.\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  return in(c, kIgnorable) || kInsideWords.find(c) != std::u32string_view::npos;
}

// Unicode's Cased, without what is_case_ignorable holds as well.
bool is_cased(char32_t c) {
  constexpr CategorySet kCased = bit(Category::Lu) | bit(Category::Ll) | bit(Category::Lt);
  return in(c, kCased) || c == 0xAA || c == 0xBA || in_range(c, 0x2160, 0x217F) ||
         in_range(c, 0x24B6, 0x24E9) || in_range(c, 0x1F130, 0x1F149) || in_range(c, 0x1F150, 0x1F169) ||
         in_range(c, 0x1F170, 0x1F189);
}

// For every character whether the nearest one before (or after) it that is not case-ignorable is cased.
std::vector<bool> follows_cased(std::u32string_view text, bool backwards) {
  std::vector<bool> follows(text.size());
  bool cased = false;
  for (size_t step = 0; step < text.size(); ++step) {
    const size_t i = backwards ? text.size() - 1 - step : step;
    follows[i] = cased;
    if (!is_case_ignorable(text[i])) cased = is_cased(text[i]);
  }
  return follows;
}

// A sigma at the end of a word has a form of its own.
void place_final_sigmas(std::u32string_view original, std::u32string& lowered) {
  const std::vector<bool> after = follows_cased(original, false), before = follows_cased(original, true);
  for (size_t i = 0, at = 0; i < original.size(); ++i, ++at) {
    if (original[i] == kCapitalSigma) lowered[at] = after[i] && !before[i] ? kFinalSigma : kSigma;
    if (original[i] == 0x130) ++at;  // the one character that becomes two
  }
}

std::string valid(std::string_view text) {
  return is_valid(text) ? std::string(text) : replace_invalid(text);
}

}  // namespace

bool is_python_space(char32_t c) {
  return is_white_space(c) || in_range(c, 0x1C, 0x1F);
}

bool is_python_word(char32_t c) {
  return in(c, kLetters | kNumbers) || c == '_';
}

std::u32string characters(std::string_view text) {
  const std::string whole = valid(text);
  std::u32string result;
  for (const char *at = whole.data(), *end = at + whole.size(); at < end; at += size_of(*at)) {
    result += decode(at);
  }
  return result;
}

std::string utf8(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) append(c, text);
  return text;
}

std::string python_lower(std::string_view text) {
  std::string lowered(text);
  if (is_ascii(text)) {
    for (char& c : lowered) c = in_range(c, 'A', 'Z') ? static_cast<char>(c + ('a' - 'A')) : c;
    return lowered;
  }
  const std::u32string original = characters(text);
  std::u32string result;
  for (const Change& change : lowercase(valid(text))) result += change.character;
  if (original.find(kCapitalSigma) != std::u32string::npos) place_final_sigmas(original, result);
  return utf8(result);
}

}  // namespace hftrain::tokenizer::unicode
