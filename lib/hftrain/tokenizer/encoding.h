// What is known about an encoded input, what an input may be, and how it is cut and filled up: the values
// that go into and come out of a Tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hftrain::tokenizer {

using TokenId = int32_t;

// The word_id and the sequence_id of a token that belongs to none.
constexpr int32_t kUnassigned = -1;

// Everything known about one encoded input. All vectors but `overflowing` have one entry per token.
struct Encoding {
  // Tokens [begin, end) are those of sequence `id`: 0 is the first text of an input, 1 the second.
  struct SequenceRange {
    int32_t id;
    size_t begin, end;
    bool operator==(const SequenceRange&) const = default;
  };

  std::vector<TokenId> ids;
  std::vector<std::string> tokens;
  // [begin, end) in characters (Unicode code points, an invalid byte sequence counting as the one U+FFFD that
  // it is read as) of the text that the token is from; of the word, where the text came as words. {0, 0} for
  // tokens that the post-processor and padding add.
  std::vector<std::pair<int64_t, int64_t>> offsets;
  std::vector<int32_t> type_ids;
  std::vector<int32_t> attention_mask;
  std::vector<int32_t> special_tokens_mask;  // 1 for tokens that the post-processor and padding add
  // Which word a token is from: of the words that came in, or else of the pieces that the pre-tokenizer made.
  std::vector<int32_t> word_ids;
  std::vector<SequenceRange> sequence_ranges;  // none: all tokens are of one sequence
  // What truncation cut off, as further windows, where EncodeOptions asks for them. They have none
  // themselves.
  std::vector<Encoding> overflowing;

  size_t size() const { return ids.size(); }
  // Adds one token, with attention and outside of any sequence's range.
  void add(TokenId id, std::string_view token, std::pair<int64_t, int64_t> offset, int32_t word,
           bool special);
  // Which text each token is from; kUnassigned for special tokens and padding.
  std::vector<int32_t> sequence_ids() const;
  // The token of the text `sequence` whose offsets hold character `position`.
  std::optional<size_t> char_to_token(int64_t position, int32_t sequence = 0) const;

  // The steps of the pipeline behind the model.
  void set_sequence_id(int32_t id);                // of all tokens
  void append(Encoding tail);                      // with the windows of both combined, as the package does
  Encoding slice(size_t begin, size_t end) const;  // tokens alone, without ranges and windows
};

// Token ids and what is cheap to know about them: what most tasks need, without offsets.
struct TokenRow {
  std::vector<TokenId> ids;
  std::vector<int32_t> type_ids;
  std::vector<uint8_t> special_tokens_mask;
  std::vector<int32_t> word_ids;  // only for inputs that are words; empty otherwise

  void clear();
};

// Running text, or words that somebody has cut already (transformers' is_split_into_words). UTF-8; invalid
// bytes are read as U+FFFD.
using Sequence = std::variant<std::string_view, std::span<const std::string>>;

// A text, or two. What it views must live as long as the call.
struct EncodeInput {
  Sequence first;
  std::optional<Sequence> second = std::nullopt;
};

enum class TruncationStrategy { kLongestFirst, kOnlyFirst, kOnlySecond };

struct Truncation {
  int64_t max_length = 0;  // tokens, with the special ones
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  int64_t stride = 0;      // tokens of one window that the next has too
  bool from_left = false;  // the end of a text is kept, and windows go from there to its beginning
};

struct Padding {
  std::optional<int64_t> fixed_length;  // unset: the longest of the batch, here the input itself
  int64_t multiple_of = 0;
  bool on_left = false;
  TokenId id = 0;
  int32_t type_id = 0;
  std::string token;
};

struct EncodeOptions {
  bool add_special_tokens = true;
  std::optional<Truncation> truncation = std::nullopt;
  std::optional<Padding> padding = std::nullopt;
  bool windows = false;  // what truncation cuts off becomes Encoding::overflowing
};

}  // namespace hftrain::tokenizer
