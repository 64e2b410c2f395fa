// Rows of text to token ids, nothing else: the encoder of language modelling.
#include <utility>

#include "hftrain/data/encoder.h"

namespace hftrain::data {
namespace {

class TextEncoder final : public Encoder {
 public:
  explicit TextEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  FeatureSchema schema() const override { return {{kInputIds, FeatureType::kTokenIds}}; }

  // Lengths are left out: the rows are joined.
  void encode(const Records& records, Features& features) const override {
    std::vector<int32_t>& ids = features.columns.front().integers;
    for (size_t row = 0; row < records.rows(); ++row)
      tokenizer_->encode_into(records.value(row, 0).text(), true, ids);
  }

 private:
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
};

}  // namespace

Recipe packed_text(const std::string& task) {
  Recipe recipe;
  recipe.task = task;
  recipe.takes_token_files = true;
  recipe.columns = [](Split) { return text_column(); };
  recipe.encoder = [](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, Split, const Json&) {
    return std::make_unique<TextEncoder>(std::move(tokenizer));
  };
  return recipe;
}

}  // namespace hftrain::data
