// A tokenizer.json pipeline: text to token ids and back, with the same ids as the PyPI `tokenizers` package.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hftrain::tokenizer {

using TokenId = int32_t;

// Everything known about one encoded text. All vectors have one entry per token.
struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::string> tokens;
  std::vector<std::pair<int64_t, int64_t>> offsets;  // [begin, end) in characters (code points) of the input
  std::vector<int32_t> type_ids;
  std::vector<int32_t> attention_mask;

  void append(const Encoding& tail);
};

// Immutable after loading. All const methods may be called from any number of threads at once.
class Tokenizer {
 public:
  // `place` is a folder that holds tokenizer.json (tokenizer_config.json is read when there), or the file
  // itself. Errors (exit code 4) name the file and, for an unsupported part of the pipeline, its `type`.
  static std::shared_ptr<const Tokenizer> load(const std::string& place);

  virtual ~Tokenizer() = default;

  // Appends the ids of `text` (UTF-8; invalid bytes are read as U+FFFD) to `ids`. The fast path. Never
  // truncates or pads, as transformers does not either unless told to.
  virtual void encode_into(std::string_view text, bool add_special_tokens,
                           std::vector<TokenId>& ids) const = 0;
  // The same with everything known about the tokens; follows the file's truncation and padding, as the
  // package does.
  virtual Encoding encode(std::string_view text, bool add_special_tokens) const = 0;
  // Unknown ids are left out.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const = 0;

  virtual int64_t vocab_size() const = 0;  // with added tokens: largest id + 1
  virtual std::optional<TokenId> token_to_id(std::string_view token) const = 0;
  // model_max_length of tokenizer_config.json; unset when missing or absurdly large (1e30).
  virtual std::optional<int64_t> model_max_length() const = 0;
  virtual std::optional<TokenId> bos_id() const = 0;
  virtual std::optional<TokenId> eos_id() const = 0;
  virtual std::optional<TokenId> pad_id() const = 0;
  virtual const std::string& folder() const = 0;  // where its files lie
};

}  // namespace hftrain::tokenizer
