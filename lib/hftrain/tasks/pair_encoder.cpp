#include "hftrain/tasks/pair_encoder.h"

#include <string_view>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::tasks {
namespace {

class PairEncoder final : public data::Encoder {
 public:
  PairEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, PairEncoding encoding,
              std::optional<LabelSet> labels)
      : tokenizer_(std::move(tokenizer)), encoding_(std::move(encoding)), labels_(std::move(labels)) {
    options_.truncation = tokenizer::Truncation{.max_length = encoding_.max_length,
                                                .strategy = encoding_.strategy,
                                                .from_left = tokenizer_->truncates_from_left()};
  }

  data::FeatureSchema schema() const override {
    data::FeatureSchema schema = {{data::kInputIds, data::FeatureType::kTokenIds},
                                  {"token_type_ids", data::FeatureType::kInteger}};
    if (labels_)
      schema.push_back({"labels", labels_->kind() == LabelSet::Kind::kClasses ? data::FeatureType::kInteger
                                                                              : data::FeatureType::kFloat});
    return schema;
  }

  void encode(const data::Records& records, data::Features& features) const override {
    tokenizer::TokenRow tokens;
    for (size_t row = 0; row < records.rows(); ++row) {
      encode_texts(records, row, tokens);
      features.columns[0].add_sequence(tokens.ids);
      features.columns[1].add_sequence(tokens.type_ids);
      if (labels_) add_labels(records, row, features.columns[2]);
    }
  }

 private:
  std::string_view text_of(const data::Records& records, size_t row, size_t column) const {
    const data::Value value = records.value(row, column);
    if (value.kind() == data::ValueKind::kText) return value.text();
    throw Error(ExitCode::kData, column == kFirstText ? "the first text of a row is no string"
                                                      : "the second text of a row is no string")
        .where(records.where(row))
        .why(std::string("it is ") + data::kind_name(value.kind()))
        .hint(encoding_.hint);
  }

  void encode_texts(const data::Records& records, size_t row, tokenizer::TokenRow& tokens) const {
    tokenizer::EncodeInput input{text_of(records, row, kFirstText)};
    if (records.value(row, kSecondText).kind() != data::ValueKind::kNull)
      input.second = text_of(records, row, kSecondText);
    tokenizer_->encode_row(input, options_, tokens);
  }

  void add_labels(const data::Records& records, size_t row, data::FeatureValues& column) const {
    if (encoding_.label_columns) return labels_->add_columns(records, row, kLabelCell, column);
    labels_->add(records, row, kLabelCell, column);
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  PairEncoding encoding_;
  tokenizer::EncodeOptions options_;
  std::optional<LabelSet> labels_;  // nothing: rows have none
};

}  // namespace

std::unique_ptr<data::Encoder> pair_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                            const PairEncoding& encoding, std::optional<LabelSet> labels) {
  return std::make_unique<PairEncoder>(std::move(tokenizer), encoding, std::move(labels));
}

}  // namespace hftrain::tasks
