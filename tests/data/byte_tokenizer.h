// A tokenizer for tests: every byte is its own id, and 256 comes first in every row.
#pragma once

#include <atomic>
#include <functional>

#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::testing {

class ByteTokenizer final : public tokenizer::Tokenizer {
 public:
  // Called before every row is encoded, from any thread.
  std::function<void(std::string_view)> before_row;

  void encode_into(std::string_view text, bool add_special_tokens,
                   std::vector<tokenizer::TokenId>& ids) const override {
    if (before_row) before_row(text);
    if (add_special_tokens) ids.push_back(256);
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  tokenizer::Encoding encode(std::string_view text, bool add_special_tokens) const override {
    tokenizer::Encoding encoding;
    encode_into(text, add_special_tokens, encoding.ids);
    return encoding;
  }
  // One text, or two behind one another; never cut.
  tokenizer::Encoding encode(const tokenizer::EncodeInput& input,
                             const tokenizer::EncodeOptions& options) const override {
    tokenizer::Encoding encoding =
        encode(std::get<std::string_view>(input.first), options.add_special_tokens);
    if (input.second) encode_into(std::get<std::string_view>(*input.second), false, encoding.ids);
    return encoding;
  }
  std::string decode(std::span<const tokenizer::TokenId> ids, bool) const override {
    std::string text;
    for (const tokenizer::TokenId id : ids) {
      if (id < 256) text += static_cast<char>(id);
    }
    return text;
  }
  int64_t vocab_size() const override { return 257; }
  std::optional<tokenizer::TokenId> token_to_id(std::string_view) const override { return std::nullopt; }
  std::optional<int64_t> model_max_length() const override { return std::nullopt; }
  std::optional<tokenizer::TokenId> bos_id() const override { return 256; }
  std::optional<tokenizer::TokenId> eos_id() const override { return std::nullopt; }
  std::optional<tokenizer::TokenId> pad_id() const override { return std::nullopt; }
  const std::string& folder() const override { return folder_; }

 private:
  std::string folder_ = ".";
};

}  // namespace hftrain::testing
