// What comes around the tokens of one text or two: their special tokens and type ids. It is found once, by
// asking the post-processor, so that rows of ids can be made without it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hftrain/tokenizer/encoding.h"
#include "hftrain/tokenizer/post_processors.h"

namespace hftrain::tokenizer {

// The ids of one text.
struct TextIds {
  std::vector<TokenId> ids;
  bool is_words = false;
  std::vector<int32_t> word_ids;  // where it came as words

  // Keeps `length` tokens. Error (exit code 4) as in truncation.h.
  void truncate(size_t length, const Truncation& truncation);
};

// Puts the texts of an input into one Encoding, as `processor` (null: none) does.
Encoding surround(const PostProcessor* processor, std::vector<Encoding> texts, bool add_special_tokens);

class Frame {
 public:
  // Null when the processor cannot take so many texts.
  static std::optional<Frame> around(const PostProcessor* processor, bool pair, bool add_special_tokens);

  void fill(const TextIds& first, const TextIds& second, TokenRow& row) const;
  // The first text once, between `before` and `after`.
  bool is_plain() const { return is_plain_; }
  std::span<const TokenId> before() const { return before_; }
  std::span<const TokenId> after() const { return after_; }

 private:
  // A special token, or a text in its place.
  struct Part {
    int32_t sequence;  // kUnassigned: a special token
    TokenId id;
    int32_t type_id;
  };

  explicit Frame(std::vector<Part> parts);

  std::vector<Part> parts_;
  bool is_plain_ = false;
  std::vector<TokenId> before_, after_;
};

}  // namespace hftrain::tokenizer
