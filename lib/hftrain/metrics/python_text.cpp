#include "hftrain/metrics/python_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::metrics {
namespace {

namespace unicode = tokenizer::unicode;

std::string made_valid(std::string_view text) {
  return unicode::is_valid(text) ? std::string(text) : unicode::replace_invalid(text);
}

bool is_ascii_punctuation(char c) {
  const auto between = [c](char first, char last) { return first <= c && c <= last; };
  return between('!', '/') || between(':', '@') || between('[', '`') || between('{', '~');
}

}  // namespace

std::vector<std::string> python_split(std::string_view text) {
  const std::string whole = made_valid(text);
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
  std::string whole = made_valid(text);
  const char* end = whole.data() + whole.size();
  while (end > whole.data() && is_python_space(unicode::decode(unicode::previous(end)))) {
    end = unicode::previous(end);
  }
  whole.resize(static_cast<size_t>(end - whole.data()));
  return whole;
}

std::string python_strip(std::string_view text) {
  const std::u32string whole = characters(python_rstrip(text));
  const auto first = std::find_if_not(whole.begin(), whole.end(), is_python_space);
  return utf8({first, whole.end()});
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
