#include "hftrain/chat/text_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_cases.h"
#include "hftrain/chat/text_pieces.h"
#include "hftrain/chat/text_search.h"
#include "hftrain/tokenizer/unicode/python_text.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace unicode = tokenizer::unicode;

// What the filter title takes for the space between words.
bool parts_words(char32_t c) {
  return unicode::is_python_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
}

// The end of the run of characters, all of which part words or none, that begins at `from`.
size_t end_of_run(std::string_view text, size_t from) {
  const bool parts = parts_words(unicode::decode(text.data() + from));
  size_t end = from;
  while (end < text.size() && parts_words(unicode::decode(text.data() + end)) == parts)
    end += unicode::size_of(text[end]);
  return end;
}

}  // namespace

std::string aligned(Runtime& runtime, const Text& text, int64_t width, std::string_view fill, char align) {
  if (unicode::count(fill) != 1) runtime.fail("The fill character must be exactly one character long");
  runtime.expect(text.bytes.size());
  if (width <= text.length) return text.bytes;
  const auto missing = static_cast<uint64_t>(width - text.length);
  runtime.expect(missing, 4);
  const uint64_t odd = missing & static_cast<uint64_t>(width) & 1;  // as CPython centres
  const uint64_t left = align == '>' ? missing : align == '^' ? missing / 2 + odd : 0;
  std::string made;
  for (uint64_t i = 0; i < left; ++i) made += fill;
  made += text.bytes;
  for (uint64_t i = left; i < missing; ++i) made += fill;
  return made;
}

std::string indented(Runtime& runtime, std::string_view text, std::string_view indention, bool first,
                     bool blank) {
  const std::string whole = std::string(text) + "\n";
  const std::vector<std::string_view> lines = lines_of(whole, false);
  runtime.expect(text.size(), 2);
  if (!indention.empty()) runtime.expect(lines.size() + 1, indention.size());
  std::string made(first ? indention : "");
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) made += '\n';
    if (i > 0 && (blank || !lines[i].empty())) made += indention;
    made += lines[i];
  }
  return made;
}

std::string titled(std::string_view text) {
  std::string made;
  for (size_t from = 0; from < text.size();) {
    const size_t end = end_of_run(text, from), first = unicode::size_of(text[from]);
    made += in_case(text.substr(from, first), Case::kUpper);
    made += in_case(text.substr(from + first, end - from - first), Case::kLower);
    from = end;
  }
  return made;
}

Value truncated_text(Runtime& runtime, const Text& text, int64_t length, bool kill_words,
                     std::string_view end, int64_t leeway) {
  const auto end_length = static_cast<int64_t>(unicode::count(end));
  if (length < end_length)
    runtime.fail("expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length));
  if (leeway < 0) runtime.fail("expected leeway >= 0, got " + std::to_string(leeway));
  runtime.read(text.bytes.size());
  if (text.length <= length || text.length - length <= leeway) return runtime.text(text.bytes);
  std::string_view kept = std::string_view(text.bytes).substr(0, byte_of(text, length - end_length));
  if (!kill_words) kept = kept.substr(0, kept.rfind(' '));
  return runtime.text(std::string(kept) + std::string(end));
}

int64_t count_words(std::string_view text) {
  int64_t count = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size(); at += unicode::size_of(text[at])) {
    const bool word = unicode::is_python_word(unicode::decode(text.data() + at));
    count += word && !inside ? 1 : 0;
    inside = word;
  }
  return count;
}

std::string file_size(double bytes, bool binary) {
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return "1 Byte";
  if (bytes < base) return std::to_string(static_cast<int64_t>(bytes)) + " Bytes";
  constexpr std::string_view kUnits = "kMGTPEZY";
  size_t unit = 0;
  double size = base * base;
  while (unit + 1 < kUnits.size() && bytes >= size) ++unit, size *= base;
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.1f ", base * bytes / size);
  const char letter = binary && unit == 0 ? 'K' : kUnits[unit];
  return std::string(buffer) + letter + (binary ? "iB" : "B");
}

std::string url_quoted(std::string_view text, bool for_query) {
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 ||
                                       std::string_view("_.-~").find(c) != std::string_view::npos);
    if (plain || (c == '/' && !for_query)) {
      made += c;
    } else if (c == ' ' && for_query) {
      made += '+';
    } else {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", byte);
      made += escape;
    }
  }
  return made;
}

}  // namespace hftrain::chat
