#include <algorithm>
#include <array>

#include "hftrain/chat/text_pieces.h"
#include "hftrain/chat/token.h"
#include "hftrain/tokenizer/unicode/python_text.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace unicode = tokenizer::unicode;

// \r\n and \r are newlines, and the last newline of all goes.
std::string with_plain_newlines(const std::string& source) {
  std::string made;
  made.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    made += source[i] == '\r' ? '\n' : source[i];
  }
  if (made.ends_with('\n')) made.pop_back();
  return made;
}

bool is_digit_of(char c, int base) {
  const int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return value < base;
}

class Lexer {
 public:
  Lexer(const std::string& source, const std::string& origin) : source_(source), origin_(origin) {}

  std::vector<Token> read() {
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      if (tag == source_.npos) {
        data(std::string_view(source_).substr(at_));
        at_ = source_.size();
      } else {
        text_and_tag(tag);
      }
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  // ----- places: counted on from the last one asked for -----
  Place place_at(size_t byte) {
    if (byte < counted_) counted_ = 0, place_ = Place();
    for (; counted_ < byte; ++counted_) {
      const bool newline = source_[counted_] == '\n', begins = (source_[counted_] & 0xC0) != 0x80;
      place_ = newline ? Place{place_.line + 1, 1} : Place{place_.line, place_.column + (begins ? 1 : 0)};
    }
    return place_;
  }
  [[noreturn]] void fail(const std::string& why) { throw template_error(origin_, place_at(at_), why); }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), place_at(at_)}); }
  void data(std::string_view text) {
    if (!text.empty()) add(TokenKind::kData, std::string(text));
  }

  // ----- text -----
  size_t next_tag() const {
    for (size_t brace = source_.find('{', at_); brace != source_.npos; brace = source_.find('{', brace + 1)) {
      const char next = brace + 1 < source_.size() ? source_[brace + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') return brace;
    }
    return source_.npos;
  }

  // What is left of the text before a tag with that sign.
  std::string_view before_tag(std::string_view text, char sign, bool is_print) const {
    if (sign == '-') return stripped(text, std::nullopt, Side::kRight);
    if (sign == '+' || is_print) return text;
    const size_t newline = text.rfind('\n'), line = newline == text.npos ? 0 : newline + 1;
    const bool begins_line = line > 0 || line_starting_;
    const bool blank = stripped(text.substr(line), std::nullopt, Side::kLeft).empty();
    return begins_line && blank ? text.substr(0, line) : text;
  }

  char sign_at(size_t byte) const {
    const char c = byte < source_.size() ? source_[byte] : ' ';
    return c == '-' || c == '+' ? c : ' ';
  }

  void skip_spaces() {
    while (at_ < source_.size() && unicode::is_python_space(unicode::decode(source_.data() + at_))) {
      at_ += unicode::size_of(source_[at_]);
    }
  }

  // A word inside a tag that is looked for byte by byte, with blanks before and behind.
  bool skip_word(std::string_view word) {
    skip_spaces();
    if (source_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    skip_spaces();
    return true;
  }

  void text_and_tag(size_t tag) {
    const char second = source_[tag + 1], sign = sign_at(tag + 2);
    const std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    data(before_tag(text, sign, second == '{'));
    at_ = tag;
    if (second == '%' && raw_block(sign)) return;
    const TokenKind kind = second == '{' ? TokenKind::kPrintBegin : TokenKind::kTagBegin;
    if (second != '#') add(kind, "");
    at_ += sign == ' ' ? 2 : 3;
    if (second == '#') return comment(tag);
    inside(second == '{' ? "}}" : "%}");
  }

  // ----- the ends of tags -----
  // Takes the end of a tag at this place, with what its sign strips; `closing` is "%}", "}}" or "#}".
  bool take_end(std::string_view closing) {
    const char sign = sign_at(at_);
    const size_t skipped = sign == '-' || (sign == '+' && closing != "}}") ? 1 : 0;
    if (source_.compare(at_ + skipped, 2, closing) != 0) return false;
    at_ += skipped + 2;
    if (sign == '-') {
      skip_spaces();
    } else if (skipped == 0 && closing != "}}" && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    line_starting_ = source_[at_ - 1] == '\n';
    return true;
  }

  void comment(size_t begin) {
    while (at_ < source_.size()) {
      if (take_end("#}")) return;
      ++at_;
    }
    at_ = begin;
    fail("Missing end of comment tag");
  }

  // {% raw %} … {% endraw %}: text as it is. False where this tag is another.
  bool raw_block(char sign) {
    const size_t begin = at_;
    at_ += sign == ' ' ? 2 : 3;
    const bool raw =
        skip_word("raw") && (source_.compare(at_, 2, "%}") == 0 || source_.compare(at_, 3, "-%}") == 0);
    if (!raw) return at_ = begin, false;
    const bool strips = source_[at_] == '-';
    at_ += strips ? 3 : 2;
    if (strips) skip_spaces();
    line_starting_ = source_[at_ - 1] == '\n';
    for (const size_t text = at_;; ++at_) {
      at_ = source_.find("{%", at_);
      if (at_ == source_.npos) {
        at_ = begin;
        fail("Missing end of raw directive");
      }
      const size_t tag = at_;
      const char end_sign = sign_at(tag + 2);
      at_ += end_sign == ' ' ? 2 : 3;
      const bool was_starting = line_starting_;
      if (skip_word("endraw") && take_end("%}")) {
        line_starting_ = was_starting;
        data(before_tag(std::string_view(source_).substr(text, tag - text), end_sign, false));
        line_starting_ = source_[at_ - 1] == '\n';
        return true;
      }
      at_ = tag;
    }
  }

  // ----- inside a tag -----
  void inside(std::string_view closing) {
    const size_t begin = at_;
    std::vector<char> brackets;
    while (at_ < source_.size()) {
      const size_t end = at_;
      if (brackets.empty() && take_end(closing)) {
        tokens_.push_back({closing == "}}" ? TokenKind::kPrintEnd : TokenKind::kTagEnd, "", place_at(end)});
        return;
      }
      const size_t before = at_;
      skip_spaces();
      if (at_ != before) continue;
      if (!number() && !name() && !string()) sign(brackets);
    }
    at_ = begin;
    fail(closing == "}}" ? "a {{ has no }}" : "a {% has no %}");
  }

  // Digits with single underscores between them; the place behind them.
  size_t end_of_digits(size_t from, int base) const {
    size_t at = from;
    while (at < source_.size() && is_digit_of(source_[at], base)) {
      ++at;
      if (at + 1 < source_.size() && source_[at] == '_' && is_digit_of(source_[at + 1], base)) ++at;
    }
    return at;
  }

  size_t end_of_fraction(size_t whole) const {
    if (at_ > 0 && source_[at_ - 1] == '.') return whole;
    size_t end = whole;
    if (end < source_.size() && source_[end] == '.') {
      const size_t digits = end_of_digits(end + 1, 10);
      if (digits > end + 1) end = digits;
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const size_t exponent = end + 1 + (sign_at(end + 1) == ' ' ? 0 : 1),
                   digits = end_of_digits(exponent, 10);
      if (digits > exponent) end = digits;
    }
    return end;
  }

  bool number() {
    if (!is_digit_of(source_[at_], 10)) return false;
    const size_t whole = end_of_digits(at_, 10), fraction = end_of_fraction(whole);
    if (fraction != whole) return take(TokenKind::kFloat, fraction);
    const char letter = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : ' ';
    const int base = source_[at_] != '0' ? 10
                     : letter == 'x'     ? 16
                     : letter == 'o'     ? 8
                     : letter == 'b'     ? 2
                                         : 10;
    if (base != 10) {
      const size_t digits = at_ + 2 + (at_ + 2 < source_.size() && source_[at_ + 2] == '_' ? 1 : 0);
      const size_t end = end_of_digits(digits, base);
      if (end > digits) return take(TokenKind::kInteger, end);
    }
    size_t end = whole;  // 007 is 00 and 7, as in Jinja
    if (source_[at_] == '0') {
      for (end = at_; end < whole && (source_[end] == '0' || source_[end] == '_'); ++end) continue;
      if (source_[end - 1] == '_') --end;
    }
    return take(TokenKind::kInteger, end);
  }

  bool take(TokenKind kind, size_t end) {
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    add(kind, std::move(text));
    at_ = end;
    return true;
  }

  bool name() {
    size_t end = at_;
    while (end < source_.size() && unicode::is_python_word(unicode::decode(source_.data() + end))) {
      end += unicode::size_of(source_[end]);
    }
    if (end == at_) return false;
    add(TokenKind::kName, source_.substr(at_, end - at_));
    at_ = end;
    return true;
  }

  bool string() {
    const char quote = source_[at_];
    if (quote != '\'' && quote != '"') return false;
    for (size_t end = at_ + 1; end < source_.size(); ++end) {
      if (source_[end] == '\\') {
        ++end;
      } else if (source_[end] == quote) {
        const std::string_view inside = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
        add(TokenKind::kString, literal_text(inside, origin_, place_at(at_)));
        at_ = end + 1;
        return true;
      }
    }
    fail("a text has no closing quote");
  }

  void sign(std::vector<char>& brackets) {
    constexpr std::array<std::string_view, 26> kSigns = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const std::string_view rest = std::string_view(source_).substr(at_);
    const auto* found =
        std::ranges::find_if(kSigns, [&](std::string_view sign) { return rest.starts_with(sign); });
    if (found == kSigns.end()) {
      fail("unexpected char '" + std::string(rest.substr(0, unicode::size_of(rest[0]))) + "'");
    }
    const char first = (*found)[0];
    if (first == '(' || first == '[' || first == '{')
      brackets.push_back(first == '(' ? ')' : first == '[' ? ']' : '}');
    if (first == ')' || first == ']' || first == '}') {
      if (brackets.empty()) fail(std::string("unexpected '") + first + "'");
      if (brackets.back() != first)
        fail(std::string("unexpected '") + first + "', expected '" + brackets.back() + "'");
      brackets.pop_back();
    }
    add(TokenKind::kSign, std::string(*found));
    at_ += found->size();
  }

  const std::string& source_;
  const std::string& origin_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool line_starting_ = true;
  size_t counted_ = 0;
  Place place_;
};

}  // namespace

std::vector<Token> tokens_of(std::string source, const std::string& origin) {
  constexpr size_t kLongestTemplate = 4 << 20;
  if (source.size() > kLongestTemplate) throw template_error(origin, {}, "it is longer than 4 MiB");
  if (!unicode::is_valid(source)) throw template_error(origin, {}, "it is not UTF-8");
  const std::string plain = with_plain_newlines(source);
  return Lexer(plain, origin).read();
}

}  // namespace hftrain::chat
