// A tokenizer.json pipeline: text to token ids and back, with the same ids as the PyPI `tokenizers` package.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/encoding.h"

namespace hftrain::tokenizer {

struct LoadOptions {
  // A space before every text and every word that has none, where the tokenizer's class has that option: what
  // transformers' from_pretrained(add_prefix_space=True) does.
  bool add_prefix_space = false;
};

// Immutable after loading. All const methods may be called from any number of threads at once.
class Tokenizer {
 public:
  // `place` is a folder that holds tokenizer.json (tokenizer_config.json is read when there), or the file
  // itself. Errors (exit code 4) name the file and, for an unsupported part of the pipeline, its `type`.
  static std::shared_ptr<const Tokenizer> load(const std::string& place, const LoadOptions& options = {});

  virtual ~Tokenizer() = default;

  // Appends the ids of `text` (UTF-8; invalid bytes are read as U+FFFD) to `ids`. The fast path. Never
  // truncates or pads, as transformers does not either unless told to.
  virtual void encode_into(std::string_view text, bool add_special_tokens,
                           std::vector<TokenId>& ids) const = 0;
  // The same with everything known about the tokens; follows the file's truncation and padding, as the
  // package does.
  virtual Encoding encode(std::string_view text, bool add_special_tokens) const = 0;
  // One text or two, running or as words, with the truncation and padding of `options` and not the file's.
  // Errors (exit code 4) as in truncation.h.
  virtual Encoding encode(const EncodeInput& input, const EncodeOptions& options) const = 0;
  Encoding encode_pair(std::string_view text, std::string_view second, const EncodeOptions& options) const {
    return encode(EncodeInput{text, second}, options);
  }
  // The ids, type ids and special tokens mask of that Encoding (its first window), and its word ids where the
  // input is words: the fast path where offsets are not needed. `options` without padding. `row` is
  // overwritten.
  virtual void encode_row(const EncodeInput& input, const EncodeOptions& options, TokenRow& row) const;
  // Unknown ids are left out.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const = 0;

  virtual int64_t vocab_size() const = 0;  // with added tokens: largest id + 1
  virtual std::optional<TokenId> token_to_id(std::string_view token) const = 0;
  // model_max_length of tokenizer_config.json; unset when missing or absurdly large (1e30).
  virtual std::optional<int64_t> model_max_length() const = 0;
  virtual std::optional<TokenId> bos_id() const = 0;
  virtual std::optional<TokenId> eos_id() const = 0;
  virtual std::optional<TokenId> pad_id() const = 0;
  virtual std::optional<TokenId> unk_id() const { return std::nullopt; }
  virtual std::optional<TokenId> cls_id() const { return std::nullopt; }
  virtual std::optional<TokenId> sep_id() const { return std::nullopt; }
  virtual std::optional<TokenId> mask_id() const { return std::nullopt; }
  // The ids of all of these and of the further special tokens that tokenizer_config.json names, ascending.
  virtual std::vector<TokenId> special_ids() const { return {}; }
  // padding_side and truncation_side of tokenizer_config.json: right unless it says left.
  virtual bool pads_on_left() const { return false; }
  virtual bool truncates_from_left() const { return false; }
  virtual const std::string& folder() const = 0;  // where its files lie
};

}  // namespace hftrain::tokenizer
