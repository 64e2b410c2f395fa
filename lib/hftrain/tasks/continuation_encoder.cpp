#include "hftrain/tasks/continuation_encoder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::tasks {
namespace {

constexpr int32_t kOfTheText = -100;

class ContinuationEncoder final : public data::Encoder {
 public:
  ContinuationEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, const Continuation& encoding)
      : tokenizer_(std::move(tokenizer)), encoding_(encoding) {}

  data::FeatureSchema schema() const override {
    return {{data::kInputIds, data::FeatureType::kTokenIds}, {"labels", data::FeatureType::kInteger}};
  }

  void encode(const data::Records& records, data::Features& features) const override {
    // Before any of them is counted: remarks on a stream are made meanwhile.
    rows_ += static_cast<int64_t>(records.rows());
    std::vector<tokenizer::TokenId> ids;
    std::vector<int32_t> labels;
    for (size_t row = 0; row < records.rows(); ++row) {
      ids.clear();
      add_text(text_in_row(records, row, encoding_.text), ids);
      size_t given = ids.size();
      const bool continues = follows(records, row);
      if (continues) {
        tokenizer_->encode_into(text_in_row(records, row, encoding_.continuation), false, ids);
        if (const auto end = tokenizer_->eos_id()) ids.push_back(*end);
      }
      given -= std::min(given, cut(ids));
      labels.assign(ids.begin(), ids.end());
      std::fill_n(labels.begin(), std::min(given, labels.size()), kOfTheText);
      if (given < ids.size()) ++counting_;
      if (continues && given >= ids.size()) ++uncounted_;
      features.columns[0].add_sequence(ids);
      features.columns[1].add_sequence(labels);
    }
  }

  std::vector<data::Remark> remarks() const override {
    std::vector<data::Remark> made;
    const auto tell = [&](int64_t rows, const std::string& one, const std::string& several) {
      if (rows > 0)
        made.push_back({several, with_thousands(rows) + " of " + with_thousands(rows_) + " rows " +
                                     (rows == 1 ? one : several)});
    };
    const std::string limit = std::to_string(encoding_.max_length) + " tokens (--max_seq_length)";
    tell(uncounted_, "has no token that counts: nothing of what follows its text is left within " + limit,
         "have no token that counts: nothing of what follows their texts is left within " + limit);
    const std::string where = tokenizer_->truncates_from_left() ? "beginning" : "end";
    tell(cut_, "is longer than " + limit + " and cut at its " + where,
         "are longer than " + limit + " and cut at their " + where);
    return made;
  }

  void check_all() const override {
    if (counting_ > 0 || rows_ == 0) return;
    if (!any_follows_)
      throw Error(ExitCode::kData, "no row has a text that is to follow its text")
          .why("what is predicted is judged by it, and nothing else is written of it")
          .hint("rows with both texts; hftrain generate writes what follows of texts alone");
    throw Error(ExitCode::kData, "no row has a token that is to follow its text")
        .why("the texts alone have " + std::to_string(encoding_.max_length) + " tokens or more")
        .hint("a larger --max_seq_length, or shorter texts");
  }

 private:
  // At the end that the tokenizer cuts texts at; how many tokens went before what is left.
  size_t cut(std::vector<tokenizer::TokenId>& ids) const {
    const auto limit = static_cast<size_t>(encoding_.max_length);
    if (ids.size() <= limit) return 0;
    ++cut_;
    const size_t first = tokenizer_->truncates_from_left() ? ids.size() - limit : 0;
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(first));
    ids.resize(limit);
    return first;
  }

  // Rows to be predicted may be texts alone.
  bool follows(const data::Records& records, size_t row) const {
    const auto kind = records.value(row, encoding_.continuation).kind();
    if (encoding_.predicts && kind == data::ValueKind::kNull) return false;
    any_follows_ = true;
    return true;
  }

  // Some tokenizers end each text by themselves: what follows would stand behind the end.
  void add_text(std::string_view text, std::vector<tokenizer::TokenId>& ids) const {
    tokenizer_->encode_into(text, true, ids);
    const auto end = tokenizer_->eos_id();
    if (!end || ids.empty() || ids.back() != *end) return;
    std::vector<tokenizer::TokenId> alone;  // with the ends that are the text's own
    tokenizer_->encode_into(text, false, alone);
    if (ends_behind(ids, *end) > ends_behind(alone, *end)) ids.pop_back();
  }

  static size_t ends_behind(const std::vector<tokenizer::TokenId>& ids, tokenizer::TokenId end) {
    size_t count = 0;
    while (count < ids.size() && ids[ids.size() - 1 - count] == end) ++count;
    return count;
  }

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
  mutable std::atomic<bool> any_follows_ = false;
  // Of `rows_` those with a token that counts, those without one though something follows, and those that are cut.
  mutable std::atomic<int64_t> rows_ = 0, counting_ = 0, uncounted_ = 0, cut_ = 0;
};

}  // namespace

std::unique_ptr<data::Encoder> continuation_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                    const Continuation& encoding) {
  return std::make_unique<ContinuationEncoder>(std::move(tokenizer), encoding);
}

}  // namespace hftrain::tasks
