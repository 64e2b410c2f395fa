#include "hftrain/tasks/continuation_encoder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::tasks {
namespace {

constexpr int32_t kOfTheText = -100;

class ContinuationEncoder final : public data::Encoder {
 public:
  ContinuationEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, const Continuation& encoding)
      : tokenizer_(std::move(tokenizer)), encoding_(encoding) {}

  data::FeatureSchema schema() const override {
    data::FeatureSchema schema = {{data::kInputIds, data::FeatureType::kTokenIds}};
    if (!encoding_.predicts) schema.push_back({"labels", data::FeatureType::kInteger});
    return schema;
  }

  void encode(const data::Records& records, data::Features& features) const override {
    std::vector<tokenizer::TokenId> ids;
    std::vector<int32_t> labels;
    for (size_t row = 0; row < records.rows(); ++row) {
      ids.clear();
      tokenizer_->encode_into(text_in_row(records, row, encoding_.text), true, ids);
      const size_t given = ids.size();
      if (!encoding_.predicts) {
        tokenizer_->encode_into(text_in_row(records, row, encoding_.continuation), false, ids);
        if (const auto end = tokenizer_->eos_id()) ids.push_back(*end);
      }
      ids.resize(std::min(ids.size(), static_cast<size_t>(encoding_.max_length)));
      features.columns[0].add_sequence(ids);
      if (encoding_.predicts) continue;
      labels.assign(ids.begin(), ids.end());
      std::fill_n(labels.begin(), std::min(given, labels.size()), kOfTheText);
      if (given < ids.size()) any_counts_ = true;
      features.columns[1].add_sequence(labels);
    }
    if (records.rows() > 0) any_row_ = true;
  }

  void check_all() const override {
    if (encoding_.predicts || any_counts_ || !any_row_) return;
    throw Error(ExitCode::kData, "no row has a token that is to follow its text")
        .why("the texts alone have " + std::to_string(encoding_.max_length) + " tokens or more")
        .hint("a larger --max_seq_length, or shorter texts");
  }

 private:
  static std::string_view text_in_row(const data::Records& records, size_t row, size_t column) {
    const data::Value value = records.value(row, column);
    if (value.kind() == data::ValueKind::kText && !value.text().empty()) return value.text();
    const bool empty = value.kind() == data::ValueKind::kText;
    throw Error(ExitCode::kData, "a row has no text, or nothing that is to follow it")
        .where(records.where(row))
        .why(empty ? "it is empty" : std::string("it is ") + data::kind_name(value.kind()))
        .hint("write both as text, or remove the row");
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  Continuation encoding_;
  mutable std::atomic<bool> any_counts_ = false, any_row_ = false;
};

}  // namespace

std::unique_ptr<data::Encoder> continuation_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                    const Continuation& encoding) {
  return std::make_unique<ContinuationEncoder>(std::move(tokenizer), encoding);
}

}  // namespace hftrain::tasks
