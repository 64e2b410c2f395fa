#include "hftrain/metrics/python_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "hftrain/tokenizer/unicode/normal_forms.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::metrics {
namespace {

namespace unicode = tokenizer::unicode;

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

bool in_range(char32_t c, char32_t first, char32_t last) {
  return first <= c && c <= last;
}

// Unicode's Case_Ignorable: marks, formats, modifiers, and what stands inside words.
bool is_case_ignorable(char32_t c) {
  using unicode::Category;
  constexpr unicode::CategorySet kIgnorable = unicode::bit(Category::Mn) | unicode::bit(Category::Me) |
                                              unicode::bit(Category::Cf) | unicode::bit(Category::Lm) |
                                              unicode::bit(Category::Sk);
  constexpr std::u32string_view kInsideWords =
      U"':.\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  return unicode::in(c, kIgnorable) || kInsideWords.find(c) != std::u32string_view::npos;
}

// Unicode's Cased, without what is_case_ignorable holds as well.
bool is_cased(char32_t c) {
  using unicode::Category;
  constexpr unicode::CategorySet kCased =
      unicode::bit(Category::Lu) | unicode::bit(Category::Ll) | unicode::bit(Category::Lt);
  return unicode::in(c, kCased) || c == 0xAA || c == 0xBA || in_range(c, 0x2160, 0x217F) ||
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
  return unicode::is_valid(text) ? std::string(text) : unicode::replace_invalid(text);
}

bool is_ascii_punctuation(char c) {
  return in_range(c, '!', '/') || in_range(c, ':', '@') || in_range(c, '[', '`') || in_range(c, '{', '~');
}

}  // namespace

bool is_python_space(char32_t c) {
  return unicode::is_white_space(c) || in_range(c, 0x1C, 0x1F);
}

bool is_python_word(char32_t c) {
  return unicode::in(c, unicode::kLetters | unicode::kNumbers) || c == '_';
}

std::u32string characters(std::string_view text) {
  const std::string whole = valid(text);
  std::u32string result;
  for (const char *at = whole.data(), *end = at + whole.size(); at < end; at += unicode::size_of(*at)) {
    result += unicode::decode(at);
  }
  return result;
}

std::string utf8(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) unicode::append(c, text);
  return text;
}

std::string python_lower(std::string_view text) {
  std::string lowered(text);
  if (unicode::is_ascii(text)) {
    for (char& c : lowered) c = in_range(c, 'A', 'Z') ? static_cast<char>(c + ('a' - 'A')) : c;
    return lowered;
  }
  const std::u32string original = characters(text);
  std::u32string result;
  for (const unicode::Change& change : unicode::lowercase(valid(text))) result += change.character;
  if (original.find(kCapitalSigma) != std::u32string::npos) place_final_sigmas(original, result);
  return utf8(result);
}

std::vector<std::string> python_split(std::string_view text) {
  const std::string whole = valid(text);
  std::vector<std::string> words(1);
  for (const char *at = whole.data(), *end = at + whole.size(); at < end;) {
    const size_t size = unicode::size_of(*at);
    if (!is_python_space(unicode::decode(at))) {
      words.back().append(at, size);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
    at += size;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string python_rstrip(std::string_view text) {
  std::string whole = valid(text);
  const char* end = whole.data() + whole.size();
  while (end > whole.data() && is_python_space(unicode::decode(unicode::previous(end)))) {
    end = unicode::previous(end);
  }
  whole.resize(static_cast<size_t>(end - whole.data()));
  return whole;
}

std::string without_punctuation(std::string_view text) {
  std::string result(text);
  std::erase_if(result, is_ascii_punctuation);
  return result;
}

double python_round(double value, int digits, bool numpy) {
  if (!std::isfinite(value)) return value;
  if (numpy) {
    const double scale = std::pow(10, digits);
    return std::nearbyint(value * scale) / scale;
  }
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", digits, value);  // rounds the exact value, ties to even
  return std::strtod(text, nullptr);
}

}  // namespace hftrain::metrics
