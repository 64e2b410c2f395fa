#include "hftrain/tokenizer/precompiled_charsmap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "hftrain/tokenizer/unicode/segments.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Longer clusters are looked up character by character.
constexpr size_t kLongestCluster = 5;

// A unit of the double array.
bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t label(uint32_t unit) {
  return unit & (uint32_t{1} << 31 | 0xFF);
}
size_t offset(uint32_t unit) {
  return size_t{unit >> 10} << ((unit & uint32_t{1} << 9) >> 6);
}

// As the package counts what a replacement adds or takes away.
void append_replacement(std::string_view old_text, std::string_view new_text,
                        std::vector<unicode::Change>& changes) {
  const auto old_count = static_cast<int>(unicode::count(old_text));
  int added = -old_count;
  for (const char* p = new_text.data(); p < new_text.data() + new_text.size(); p += unicode::size_of(*p)) {
    ++added;
    changes.push_back({unicode::decode(p), added > 0 ? 1 : 0});
  }
  if (added < 0 && !changes.empty()) changes.back().change += added;
}

constexpr std::array<int8_t, 256> base64_digits() {
  std::array<int8_t, 256> digits{};
  for (int8_t& digit : digits) digit = -1;
  constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kBase64.size(); ++i)
    digits[static_cast<uint8_t>(kBase64[i])] = static_cast<int8_t>(i);
  return digits;
}

}  // namespace

PrecompiledCharsmap::PrecompiledCharsmap(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof size) throw std::invalid_argument("the charsmap has no size");
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size > bytes.size()) throw std::invalid_argument("the charsmap ends within its trie");
  units_.resize(size / sizeof(uint32_t));
  const size_t trie_bytes = units_.size() * sizeof(uint32_t);
  if (units_.empty()) throw std::invalid_argument("the charsmap has an empty trie");
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  texts_ = bytes.substr(trie_bytes);
  if (!unicode::is_valid(texts_))
    throw std::invalid_argument("the texts of the charsmap are not valid UTF-8");
  for (char c = 0; c >= 0 && c < 127; ++c) {
    const size_t child = offset(units_[0]) ^ static_cast<size_t>(c);
    plain_[static_cast<size_t>(c)] =
        c == 0 || child >= units_.size() || label(units_[child]) != static_cast<uint32_t>(c);
  }
}

std::optional<std::string_view> PrecompiledCharsmap::find(std::string_view text) const {
  size_t node = offset(units_[0]);
  for (const char c : text) {
    if (c == '\0') break;
    const auto byte = static_cast<uint8_t>(c);
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) return std::nullopt;
    const uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return std::nullopt;
    const size_t begin = units_[node] & ~(uint32_t{1} << 31);
    // A text that begins within a character is none.
    if (begin > texts_.size() ||
        (begin < texts_.size() && (static_cast<uint8_t>(texts_[begin]) & 0xC0) == 0x80))
      return std::nullopt;
    return std::string_view(texts_).substr(begin, std::min(texts_.find('\0', begin), texts_.size()) - begin);
  }
  return std::nullopt;
}

template <typename Replace, typename Keep>
void PrecompiledCharsmap::walk(std::string_view text, Replace replace, Keep keep) const {
  for (size_t at = 0; at < text.size();) {
    // A plain character before one of ASCII is a cluster of its own.
    size_t end = at;
    while (end < text.size() && is_plain(text[end]) &&
           (end + 1 == text.size() || static_cast<uint8_t>(text[end + 1]) < 0x80))
      ++end;
    if (end > at) {
      keep(text.substr(at, end - at));
      at = end;
      continue;
    }
    const std::string_view cluster = text.substr(at, unicode::grapheme_size(text.substr(at)));
    at += cluster.size();
    const auto whole = cluster.size() <= kLongestCluster ? find(cluster) : std::nullopt;
    if (whole) {
      replace(cluster, *whole);
      continue;
    }
    for (size_t i = 0; i < cluster.size(); i += unicode::size_of(cluster[i])) {
      const std::string_view character = cluster.substr(i, unicode::size_of(cluster[i]));
      const auto replacement = find(character);
      if (replacement) {
        replace(character, *replacement);
      } else {
        keep(character);
      }
    }
  }
}

bool PrecompiledCharsmap::changes(std::string_view text, std::vector<unicode::Change>& changes) const {
  // Most text is of plain ASCII.
  const bool plain = std::all_of(text.begin(), text.end(), [this](char c) { return is_plain(c); });
  if (plain) return false;
  bool modified = false;
  changes.reserve(text.size());
  walk(
      text,
      [&](std::string_view old_text, std::string_view new_text) {
        modified = true;
        append_replacement(old_text, new_text, changes);
      },
      [&](std::string_view kept) {
        for (const char* p = kept.data(); p < kept.data() + kept.size(); p += unicode::size_of(*p))
          changes.push_back({unicode::decode(p), 0});
      });
  return modified;
}

std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr std::array<int8_t, 256> kDigits = base64_digits();
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int8_t digit = kDigits[static_cast<uint8_t>(c)];
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  if ((bits & ((uint32_t{1} << held) - 1)) != 0) return std::nullopt;  // bits that belong to no byte
  return bytes;
}

}  // namespace hftrain::tokenizer
