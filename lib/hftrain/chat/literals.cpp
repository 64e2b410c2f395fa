#include <algorithm>
#include <charconv>
#include <cstdio>

#include "hftrain/chat/token.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

// Python's unicode-escape, for a text whose other characters stand for themselves.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const std::string& origin, Place place)
      : rest_(text), origin_(origin), place_(place) {}

  std::string read() {
    std::string out;
    while (!rest_.empty()) {
      const size_t mark = std::min(rest_.find('\\'), rest_.size());
      out += rest_.substr(0, mark);
      rest_.remove_prefix(mark);
      if (rest_.empty()) break;
      rest_.remove_prefix(1);
      escape(out);
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw template_error(origin_, place_, why); }

  void escape(std::string& out) {
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char c = rest_.empty() ? '\0' : rest_[0];
    if (static_cast<unsigned char>(c) >= 0x80) return far_character(out);
    if (c >= '0' && c <= '7') return number(take_octal(), out);
    rest_.remove_prefix(std::min<size_t>(1, rest_.size()));
    const size_t letter = kLetters.find(c);
    if (letter != kLetters.npos) {
      out += kMeanings[letter];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      number(take_hex(c == 'x' ? 2 : c == 'u' ? 4 : 8), out);
    } else if (c == 'N') {
      fail("an escape \\N{…} in a text is not supported: write the character itself");
    } else if (c != '\n') {
      (out += '\\') += c;
    }
  }

  // What Python makes of a backslash before a character that is not ASCII: it writes that as an escape first, whose
  // backslash pairs with this one.
  void far_character(std::string& out) {
    const char32_t code = tokenizer::unicode::decode(rest_.data());
    char buffer[16];
    const char* form = code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
    std::snprintf(buffer, sizeof buffer, form, static_cast<unsigned>(code));
    out += buffer;
    rest_.remove_prefix(tokenizer::unicode::size_of(rest_[0]));
  }

  uint32_t take_octal() {
    uint32_t value = 0;
    for (int digits = 0; digits < 3 && !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '7'; ++digits) {
      value = value * 8 + static_cast<uint32_t>(rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  uint32_t take_hex(size_t count) {
    uint32_t value = 0;
    const char* begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + std::min(count, rest_.size()), value, 16);
    if (error != std::errc() || end != begin + count) fail("an escape in a text has too few digits");
    rest_.remove_prefix(count);
    return value;
  }

  void number(uint32_t code, std::string& out) const {
    if (code > 0x10FFFF) fail("an escape in a text is beyond the last character");
    if (code >= 0xD800 && code < 0xE000) fail("an escape in a text is half a character (a surrogate)");
    tokenizer::unicode::append(static_cast<char32_t>(code), out);
  }

  std::string_view rest_;
  const std::string& origin_;
  Place place_;
};

}  // namespace

std::string literal_text(std::string_view inside, const std::string& origin, Place place) {
  return LiteralReader(inside, origin, place).read();
}

}  // namespace hftrain::chat
