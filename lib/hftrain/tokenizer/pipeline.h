// A Tokenizer made of the parts of a tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/tokenizer/added_tokens.h"
#include "hftrain/tokenizer/decoders.h"
#include "hftrain/tokenizer/fast_encoder.h"
#include "hftrain/tokenizer/frame.h"
#include "hftrain/tokenizer/model.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/post_processors.h"
#include "hftrain/tokenizer/pre_tokenizers.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

class CharacterOffsets;

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
  std::optional<std::string> bos_token, eos_token, pad_token, unk_token, cls_token, sep_token, mask_token;
  std::vector<std::string> further_tokens;  // special ones without a role
  bool pads_on_left = false, truncates_from_left = false;
};

class Pipeline : public Tokenizer {
 public:
  Pipeline(PipelineParts parts, TokenizerSettings settings);

  void encode_into(std::string_view text, bool add_special_tokens, std::vector<TokenId>& ids) const override;
  Encoding encode(std::string_view text, bool add_special_tokens) const override;
  Encoding encode(const EncodeInput& input, const EncodeOptions& options) const override;
  void encode_row(const EncodeInput& input, const EncodeOptions& options, TokenRow& row) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const override;

  int64_t vocab_size() const override;
  std::optional<TokenId> token_to_id(std::string_view token) const override;
  std::optional<int64_t> model_max_length() const override { return settings_.model_max_length; }
  std::optional<TokenId> bos_id() const override { return id_of(settings_.bos_token); }
  std::optional<TokenId> eos_id() const override { return id_of(settings_.eos_token); }
  std::optional<TokenId> pad_id() const override { return id_of(settings_.pad_token); }
  std::optional<TokenId> unk_id() const override { return id_of(settings_.unk_token); }
  std::optional<TokenId> cls_id() const override { return id_of(settings_.cls_token); }
  std::optional<TokenId> sep_id() const override { return id_of(settings_.sep_token); }
  std::optional<TokenId> mask_id() const override { return id_of(settings_.mask_token); }
  std::vector<TokenId> special_ids() const override;
  bool pads_on_left() const override { return settings_.pads_on_left; }
  bool truncates_from_left() const override { return settings_.truncates_from_left; }
  const std::string& folder() const override { return settings_.folder; }

 private:
  // A stretch of text, or an added token found in it.
  struct Section {
    AlignedText text;
    const AddedToken* token;
  };

  std::vector<Section> sections_of(std::string_view text) const;
  // Appends the tokens of valid text. All belong to `word`, or to the piece that they are from with
  // kUnassigned.
  void encode_text(std::string_view text, int32_t word, Encoding& encoding) const;
  void encode_section(Section section, const CharacterOffsets& offsets, int32_t word, int32_t& pieces,
                      Encoding& encoding) const;
  Encoding encode_sequence(const Sequence& sequence, int32_t type_id) const;
  // Appends the ids of any text, the fast way where there is one.
  void text_ids(std::string_view text, std::vector<TokenId>& ids) const;
  TextIds sequence_ids(const Sequence& sequence) const;
  std::vector<Encoding> texts_of(const EncodeInput& input, const EncodeOptions& options) const;
  const std::optional<Frame>& frame(bool pair, bool add_special_tokens) const {
    return frames_[(pair ? 2 : 0) + (add_special_tokens ? 1 : 0)];
  }
  size_t added_count(bool pair, bool add_special_tokens) const;
  std::optional<TokenId> id_of(const std::optional<std::string>& token) const;
  std::optional<std::string> token_of(TokenId id) const;

  PipelineParts parts_;
  TokenizerSettings settings_;
  std::unique_ptr<const FastEncoder> fast_;  // null when the pipeline has no fast path
  // What comes around one text, and two, without special tokens and with them; unset where that cannot be
  // told beforehand.
  std::optional<Frame> frames_[4];
};

}  // namespace hftrain::tokenizer
