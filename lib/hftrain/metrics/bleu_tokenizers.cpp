#include "hftrain/metrics/bleu_tokenizers.h"

#include "hftrain/base/error.h"
#include "hftrain/metrics/python_text.h"
#include "hftrain/tokenizer/unicode/properties.h"

namespace hftrain::metrics {
namespace {

namespace unicode = tokenizer::unicode;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    result.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  text = result.append(text, at);
}

bool is_digit(char32_t c) {
  return c >= '0' && c <= '9';
}
bool is_point(char32_t c) {
  return c == '.' || c == ',';
}
// ASCII punctuation and symbols but for the apostrophe, the comma, the dash and the point.
bool is_separate(char32_t c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}
bool is_numeral(char32_t c) {
  return unicode::in(c, unicode::kNumbers);
}
bool is_mark(char32_t c) {
  return unicode::in(c, unicode::kPunctuation);
}

using CharacterTest = bool (*)(char32_t);

// Puts spaces around every character that `test` names.
std::u32string around(const std::u32string& text, CharacterTest test) {
  std::u32string result;
  for (const char32_t c : text) result += test(c) ? std::u32string{U' ', c, U' '} : std::u32string{c};
  return result;
}

enum class Marked { kFirst, kSecond };

// Puts spaces around one of two neighbours that `first` and `second` name. Pairs do not overlap: the search
// goes on behind one, as that of a regular expression does.
std::u32string around_one(const std::u32string& text, CharacterTest first, CharacterTest second,
                          Marked marked) {
  std::u32string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (marked == Marked::kFirst) result += U' ';
    result += text[i];
    result += U' ';
    result += text[++i];
    if (marked == Marked::kSecond) result += U' ';
  }
  return result;
}

std::u32string mteval_13a(std::string text) {
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  const CharacterTest no_digit = [](char32_t c) { return !is_digit(c); };
  std::u32string words = around(U' ' + characters(text) + U' ', is_separate);
  words = around_one(words, no_digit, is_point, Marked::kSecond);
  words = around_one(words, is_point, no_digit, Marked::kFirst);
  return around_one(
      words, is_digit, [](char32_t c) { return c == '-'; }, Marked::kSecond);
}

std::u32string mteval_14(std::string_view text) {
  const CharacterTest no_numeral = [](char32_t c) { return !is_numeral(c); };
  std::u32string words = around_one(characters(text), no_numeral, is_mark, Marked::kSecond);
  words = around_one(words, is_mark, no_numeral, Marked::kFirst);
  return around(words, [](char32_t c) { return unicode::in(c, unicode::kSymbols); });
}

}  // namespace

BleuTokenizer bleu_tokenizer(std::string_view name) {
  if (name == "13a") return BleuTokenizer::k13a;
  if (name == "intl") return BleuTokenizer::kIntl;
  if (name == "char") return BleuTokenizer::kChar;
  if (name == "none") return BleuTokenizer::kNone;
  throw Error(ExitCode::kUsage, "unknown tokenizer of BLEU '" + std::string(name) + "'")
      .where("metrics")
      .why("BLEU counts words, and which ones decides the score")
      .hint("one of 13a, intl, char and none");
}

std::vector<std::string> bleu_words(std::string_view text, BleuTokenizer tokenizer, bool lowercase) {
  const std::string trimmed = python_rstrip(lowercase ? python_lower(text) : std::string(text));
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return python_split(utf8(mteval_13a(trimmed)));
    case BleuTokenizer::kIntl:
      return python_split(utf8(mteval_14(trimmed)));
    case BleuTokenizer::kChar:
      return python_split(utf8(around(characters(trimmed), [](char32_t) { return true; })));
    case BleuTokenizer::kNone:
      break;
  }
  return python_split(trimmed);
}

}  // namespace hftrain::metrics
