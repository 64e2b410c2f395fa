// A Tokenizer made of the parts of a tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/tokenizer/added_tokens.h"
#include "hftrain/tokenizer/decoders.h"
#include "hftrain/tokenizer/fast_encoder.h"
#include "hftrain/tokenizer/model.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/post_processors.h"
#include "hftrain/tokenizer/pre_tokenizers.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

struct Truncation {
  int64_t max_length = 0;
  bool from_left = false;
  bool second_text = false;  // cuts only a second text, which a single one does not have
};

struct Padding {
  std::optional<int64_t> fixed_length;  // unset: the longest of the batch, here the text itself
  int64_t multiple_of = 0;
  bool on_left = false;
  TokenId id = 0;
  int32_t type_id = 0;
  std::string token;
};

// Null parts are absent from the file.
struct PipelineParts {
  std::shared_ptr<const Normalizer> normalizer;
  std::shared_ptr<const PreTokenizer> pre_tokenizer;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const PostProcessor> post_processor;
  std::shared_ptr<const Decoder> decoder;
  std::shared_ptr<const AddedTokens> added_tokens;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
};

// What lies beside tokenizer.json.
struct TokenizerSettings {
  std::string folder;
  std::optional<int64_t> model_max_length;
  std::optional<std::string> bos_token, eos_token, pad_token;
};

class Pipeline : public Tokenizer {
 public:
  Pipeline(PipelineParts parts, TokenizerSettings settings);

  void encode_into(std::string_view text, bool add_special_tokens, std::vector<TokenId>& ids) const override;
  Encoding encode(std::string_view text, bool add_special_tokens) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const override;

  int64_t vocab_size() const override;
  std::optional<TokenId> token_to_id(std::string_view token) const override;
  std::optional<int64_t> model_max_length() const override { return settings_.model_max_length; }
  std::optional<TokenId> bos_id() const override { return id_of(settings_.bos_token); }
  std::optional<TokenId> eos_id() const override { return id_of(settings_.eos_token); }
  std::optional<TokenId> pad_id() const override { return id_of(settings_.pad_token); }
  const std::string& folder() const override { return settings_.folder; }

 private:
  // A stretch of text, or an added token found in it.
  struct Section {
    AlignedText text;
    const AddedToken* token;
  };

  std::vector<Section> sections_of(std::string_view text) const;
  Encoding encode_text(std::string_view text) const;
  Encoding surround(Encoding encoding, bool add_special_tokens) const;
  void truncate(Encoding& encoding, bool add_special_tokens) const;
  void pad(Encoding& encoding) const;
  void find_special_ids();
  std::optional<TokenId> id_of(const std::optional<std::string>& token) const;
  std::optional<std::string> token_of(TokenId id) const;

  PipelineParts parts_;
  TokenizerSettings settings_;
  std::unique_ptr<const FastEncoder> fast_;  // null when the pipeline has no fast path
  bool surrounds_plainly_ = false;           // special tokens are the same for every text:
  std::vector<TokenId> ids_before_, ids_after_;
};

}  // namespace hftrain::tokenizer
