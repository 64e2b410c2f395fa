#include "hftrain/tasks/mask_encoder.h"

#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/masking.h"
#include "hftrain/metrics/python_text.h"

namespace hftrain::tasks {
namespace {

bool is_blank(std::string_view text) {
  return metrics::python_split(text).empty();
}

class MaskEncoder final : public data::Encoder {
 public:
  MaskEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, const MaskEncoding& encoding)
      : tokenizer_(std::move(tokenizer)), encoding_(encoding) {
    if (!encoding.max_length) return;
    require_room(*encoding.max_length);
    options_.truncation = tokenizer::Truncation{.max_length = *encoding.max_length,
                                                .from_left = tokenizer_->truncates_from_left()};
  }

  data::FeatureSchema schema() const override {
    return {{data::kInputIds, data::FeatureType::kTokenIds}, {data::kMaskRoles, data::FeatureType::kInteger}};
  }

  void encode(const data::Records& records, data::Features& features) const override {
    for (size_t row = 0; row < records.rows(); ++row) {
      const std::string_view text = records.value(row, 0).text();
      if (encoding_.skips_blank_rows && is_blank(text)) continue;
      if (encoding_.whole_words) {
        add_words(text, features);
      } else {
        add_tokens(text, features);
      }
    }
  }

 private:
  // For one token beside the special ones: these are never hidden, and of nothing else there is nothing to learn.
  void require_room(int64_t max_length) const {
    tokenizer::TokenRow nothing;
    tokenizer_->encode_row({""}, {}, nothing);
    const auto special = static_cast<int64_t>(nothing.ids.size());
    if (max_length > special) return;
    throw Error(ExitCode::kUsage, "rows of " + std::to_string(max_length) + " tokens have none to hide")
        .where("--max_seq_length")
        .why("the tokenizer puts " + std::to_string(special) + " special tokens around every row")
        .hint("--max_seq_length " + std::to_string(special + 1) + " or more");
  }

  void add_tokens(std::string_view text, data::Features& features) const {
    tokenizer::TokenRow tokens;
    tokenizer_->encode_row({text}, options_, tokens);
    features.columns[0].add_sequence(tokens.ids);
    std::vector<int32_t> roles;
    for (const uint8_t special : tokens.special_tokens_mask)
      roles.push_back(special != 0 ? data::kNeverMasked : data::kMayBeMasked);
    features.columns[1].add_sequence(roles);
  }

  // A word begins behind a special token and where its token does not begin where the one before ends.
  void add_words(std::string_view text, data::Features& features) const {
    const tokenizer::Encoding tokens = tokenizer_->encode(tokenizer::EncodeInput{text}, options_);
    std::vector<int32_t> roles;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool begins = i == 0 || tokens.special_tokens_mask[i - 1] != 0 ||
                          tokens.offsets[i].first != tokens.offsets[i - 1].second;
      roles.push_back(tokens.special_tokens_mask[i] != 0 ? data::kNeverMasked
                      : begins                           ? data::kMayBeMasked
                                                         : data::kContinuesWord);
    }
    features.columns[0].add_sequence(tokens.ids);
    features.columns[1].add_sequence(roles);
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  MaskEncoding encoding_;
  tokenizer::EncodeOptions options_;
};

}  // namespace

std::unique_ptr<data::Encoder> mask_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                            const MaskEncoding& encoding) {
  return std::make_unique<MaskEncoder>(std::move(tokenizer), encoding);
}

}  // namespace hftrain::tasks
