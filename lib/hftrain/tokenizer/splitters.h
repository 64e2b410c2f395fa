// The split patterns of the well-known families, written by hand: many times faster than a regular expression
// engine, and with the character classes of Unicode 16. Each calls `sink(begin, end)` for consecutive pieces
// that cover the text.
//
//   GPT-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   Llama 3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//             ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   Qwen2    Llama 3 with \p{N} for \p{N}{1,3}
//   Mistral  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|
//            [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|
//             ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

enum class KnownPattern { kGpt2, kLlama3, kQwen2, kMistral };

// The pattern spelled exactly like one of the above.
std::optional<KnownPattern> known_pattern(std::string_view regex);

namespace splitting {

// What a character is to these patterns.
enum Kind : uint8_t {
  kLetter = 1,
  kNumber = 2,
  kSpace = 4,    // white space that ends no line
  kNewline = 8,  // \r and \n
  kOther = 16,
  kUpper = 32,  // Lu Lt Lm Lo M
  kLower = 64,  // Ll Lm Lo M
};
constexpr uint8_t kWhite = kSpace | kNewline;

constexpr uint8_t ascii_kind(char c) {
  if (c >= 'a' && c <= 'z') return kLetter | kLower;
  if (c >= 'A' && c <= 'Z') return kLetter | kUpper;
  if (c >= '0' && c <= '9') return kNumber;
  if (c == '\r' || c == '\n') return kNewline;
  if (c == ' ' || c == '\t' || c == '\v' || c == '\f') return kSpace;
  return kOther;
}
constexpr std::array<uint8_t, 128> make_ascii_kinds() {
  std::array<uint8_t, 128> kinds{};
  for (int c = 0; c < 128; ++c) kinds[static_cast<size_t>(c)] = ascii_kind(static_cast<char>(c));
  return kinds;
}
inline constexpr std::array<uint8_t, 128> kAsciiKinds = make_ascii_kinds();

uint8_t kind_beyond_ascii(char32_t c);

inline uint8_t kind_at(const char* p) {
  const auto byte = static_cast<uint8_t>(*p);
  return byte < 0x80 ? kAsciiKinds[byte] : kind_beyond_ascii(unicode::decode(p));
}

// The first position from `p` on whose character is not of `kinds`.
inline const char* skip(const char* p, const char* end, uint8_t kinds) {
  while (p < end) {
    const auto byte = static_cast<uint8_t>(*p);
    if (byte < 0x80) {
      if ((kAsciiKinds[byte] & kinds) == 0) return p;
      ++p;
    } else {
      if ((kind_beyond_ascii(unicode::decode(p)) & kinds) == 0) return p;
      p += unicode::size_of(*p);
    }
  }
  return end;
}

// `p` is at an apostrophe: the bytes of 's 't 're 've 'm 'll 'd, or 0. Ignoring case, U+017F is an s.
inline size_t contraction(const char* p, const char* end, bool ignore_case) {
  const auto letter = [&](int i) {
    const char c = end - p > i ? p[i] : '\0';
    return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  switch (letter(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return letter(2) == 'e' ? 3 : 0;
    case 'l':
      return letter(2) == 'l' ? 3 : 0;
    case '\xC5':
      return ignore_case && letter(2) == '\xBF' ? 3 : 0;
    default:
      return 0;
  }
}

// `p` is at white space: the end of \s+(?!\S)|\s+ there. The last character of a run before a word is left to
// the word.
inline const char* white_space(const char* p, const char* end) {
  const char* stop = skip(p, end, kWhite);
  if (stop == end) return stop;
  const char* last = unicode::previous(stop);
  return last > p ? last : stop;
}

// The same with \s*[\r\n]+ in front: up to the last line end of the run when it has one.
inline const char* white_space_or_lines(const char* p, const char* end) {
  const char* stop = skip(p, end, kWhite);
  for (const char* at = stop; at > p; --at) {
    if (at[-1] == '\r' || at[-1] == '\n') return at;
  }
  if (stop == end) return stop;
  const char* last = unicode::previous(stop);
  return last > p ? last : stop;
}

// [\p{Lu}…]*[\p{Ll}…]+ or, failing that and if allowed, [\p{Lu}…]+[\p{Ll}…]*: its end, or null.
const char* cased_word(const char* p, const char* end, bool needs_lower);

inline const char* gpt2_piece(const char* p, const char* end) {
  if (*p == '\'') {
    if (const size_t size = contraction(p, end, false)) return p + size;
  }
  const char* word = *p == ' ' && end - p > 1 ? p + 1 : p;
  const uint8_t kind = kind_at(word);
  if ((kind & kWhite) != 0) return white_space(p, end);
  return skip(word, end, kind & (kLetter | kNumber | kOther));
}

inline const char* numbers(const char* p, const char* end, int most) {
  for (int i = 0; i < most && p < end && kind_at(p) == kNumber; ++i) p += unicode::size_of(*p);
  return p;
}

// What Llama 3, Qwen2 and Mistral share behind their words and numbers: punctuation, with line ends, and
// white space.
inline const char* rest_piece(const char* p, const char* end, uint8_t kind, bool takes_slashes) {
  const char* mark = *p == ' ' && end - p > 1 ? p + 1 : p;
  if (((mark == p ? kind : kind_at(mark)) & kOther) == 0) return white_space_or_lines(p, end);
  const char* stop = skip(mark, end, kOther);
  while (stop < end && (*stop == '\r' || *stop == '\n' || (takes_slashes && *stop == '/'))) ++stop;
  return stop;
}

inline const char* llama3_piece(const char* p, const char* end, int most_numbers) {
  if (*p == '\'') {
    if (const size_t size = contraction(p, end, true)) return p + size;
  }
  const uint8_t kind = kind_at(p);
  if ((kind & kLetter) != 0) return skip(p, end, kLetter);
  if (kind == kNumber) return numbers(p, end, most_numbers);
  if (kind != kNewline) {
    const char* word = p + unicode::size_of(*p);
    if (word < end && (kind_at(word) & kLetter) != 0) return skip(word, end, kLetter);
  }
  return rest_piece(p, end, kind, false);
}

inline const char* mistral_piece(const char* p, const char* end) {
  const uint8_t kind = kind_at(p);
  if (kind == kNumber) return p + unicode::size_of(*p);
  const bool may_lead = (kind & (kLetter | kNewline)) == 0;
  for (const bool needs_lower : {true, false}) {
    if (may_lead) {
      if (const char* stop = cased_word(p + unicode::size_of(*p), end, needs_lower)) return stop;
    }
    if (const char* stop = cased_word(p, end, needs_lower)) return stop;
  }
  return rest_piece(p, end, kind, true);
}

template <typename Piece, typename Sink>
void cover(std::string_view text, Piece piece, Sink&& sink) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const char* stop = piece(p, end);
    sink(p, stop);
    p = stop;
  }
}

}  // namespace splitting

template <typename Sink>
void split(KnownPattern pattern, std::string_view text, Sink&& sink) {
  switch (pattern) {
    case KnownPattern::kGpt2:
      return splitting::cover(text, splitting::gpt2_piece, sink);
    case KnownPattern::kLlama3:
      return splitting::cover(
          text, [](const char* p, const char* end) { return splitting::llama3_piece(p, end, 3); }, sink);
    case KnownPattern::kQwen2:
      return splitting::cover(
          text, [](const char* p, const char* end) { return splitting::llama3_piece(p, end, 1); }, sink);
    case KnownPattern::kMistral:
      return splitting::cover(text, splitting::mistral_piece, sink);
  }
}

}  // namespace hftrain::tokenizer
