// What a normalizer makes of single characters, remembered: most text is normalised character by character, and
// then no text has to be rewritten as a whole. One owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/plain_text.h"

namespace hftrain::tokenizer {

class CharacterMemo {
 public:
  // `result` becomes the normalised `text`, which is valid UTF-8 and shorter than 4 GiB. False, with anything in
  // `result`, for a text with a character that the normalizer does not keep apart (Normalizer::keeps_apart), or
  // makes too much of. It must be the same normalizer, or none (null), in every call.
  bool normalize(const Normalizer* normalizer, std::string_view text, PlainText& result);

 private:
  static constexpr size_t kBlockSize = 128,
                          kBlocks = 0x20000 / kBlockSize;  // emoji are the last that it knows

  struct Entry {
    enum Kind : uint8_t { kUnknown, kKnown, kSpecial };
    Kind kind = kUnknown;
    uint8_t size = 0;
    char bytes[6] = {};
    std::string_view text() const { return {bytes, size}; }
  };
  using Block = std::array<Entry, kBlockSize>;

  const Entry& entry_of(const Normalizer* normalizer, char32_t c);

  std::array<std::unique_ptr<Block>, kBlocks> blocks_;
};

}  // namespace hftrain::tokenizer
