// SentencePiece's compiled table of replacements: a trie of UTF-8 byte sequences, each with the text that
// takes its place. The format is a 32-bit size, that many bytes of trie (a double array of 32-bit units,
// little-endian), and texts that end with a zero byte. Any bytes are read safely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/unicode/normal_forms.h"

namespace hftrain::tokenizer {

// Immutable; may be called from any thread.
class PrecompiledCharsmap {
 public:
  // Throws std::invalid_argument with the reason for bytes that are no charsmap.
  explicit PrecompiledCharsmap(std::string_view bytes);

  // What the shortest key that `text` begins with becomes; unset when it begins with none.
  std::optional<std::string_view> find(std::string_view text) const;
  // Replaces grapheme clusters of less than six bytes as a whole, and the characters of others one by one. As
  // in the package, a key that is only the beginning of a cluster replaces all of it. False where nothing is
  // replaced.
  bool changes(std::string_view text, std::vector<unicode::Change>& changes) const;

 private:
  template <typename Replace, typename Keep>
  void walk(std::string_view text, Replace replace, Keep keep) const;
  bool is_plain(char c) const { return static_cast<uint8_t>(c) < 0x80 && plain_[static_cast<uint8_t>(c)]; }

  std::vector<uint32_t> units_;
  std::string texts_;
  bool plain_[128] = {};  // ASCII characters that no key begins with
};

// The bytes that base64 text stands for; unset for any other text.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace hftrain::tokenizer
