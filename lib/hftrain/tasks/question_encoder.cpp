#include "hftrain/tasks/question_encoder.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/truncation.h"

namespace hftrain::tasks {
namespace {

using tokenizer::Encoding;

void append_text(std::string_view text, data::FeatureValues& column) {
  for (const char c : text) column.integers.push_back(static_cast<unsigned char>(c));
  column.lengths.push_back(static_cast<int32_t>(text.size()));
}

void append_number(int64_t number, data::FeatureValues& column) {
  column.integers.push_back(static_cast<int32_t>(number));
  column.lengths.push_back(1);
}

// The tokens [begin, end) of a window that are of the context; the others are around them.
struct ContextTokens {
  size_t begin = 0;
  size_t end = 0;
};

class QuestionEncoder final : public data::Encoder {
 public:
  QuestionEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, const QuestionEncoding& options)
      : tokenizer_(std::move(tokenizer)), options_(options) {
    encode_options_.windows = true;
    encode_options_.truncation = {.max_length = options.max_length,
                                  .strategy = options.context_first
                                                  ? tokenizer::TruncationStrategy::kOnlyFirst
                                                  : tokenizer::TruncationStrategy::kOnlySecond,
                                  .stride = options.stride,
                                  .from_left = tokenizer_->truncates_from_left()};
  }

  data::FeatureSchema schema() const override {
    using data::FeatureType;
    data::FeatureSchema schema = {{data::kInputIds, FeatureType::kTokenIds},
                                  {"token_type_ids", FeatureType::kInteger}};
    if (options_.labels)
      schema.insert(schema.end(),
                    {{kStartPositions, FeatureType::kInteger}, {kEndPositions, FeatureType::kInteger}});
    if (options_.reading)
      schema.insert(schema.end(), {{kSpans, FeatureType::kInteger},
                                   {kWindow, FeatureType::kInteger},
                                   {kQuestionId, FeatureType::kByte},
                                   {kContextText, FeatureType::kByte},
                                   {kAnswerTexts, FeatureType::kByte}});
    return schema;
  }

  void encode(const data::Records& records, data::Features& features) const override {
    for (size_t row = 0; row < records.rows(); ++row) {
      const QuestionRow question = question_row(records, row, options_.needs);
      Encoding first = windows_of(question, records.where(row));
      const std::vector<Encoding> others = std::move(first.overflowing);
      add_window(first, 0, question, records.where(row), features);
      for (size_t i = 0; i < others.size(); ++i)
        add_window(others[i], i + 1, question, records.where(row), features);
    }
  }

 private:
  Encoding windows_of(const QuestionRow& row, const std::string& where) const {
    try {
      return options_.context_first ? tokenizer_->encode_pair(row.context, row.question, encode_options_)
                                    : tokenizer_->encode_pair(row.question, row.context, encode_options_);
    } catch (tokenizer::CannotTruncate& error) {
      throw error.where(where).hint("a larger --max_seq_length, or a smaller --doc_stride");
    } catch (Error& error) {
      if (error.diagnostics().front().where.empty()) error.where(where);
      throw;
    }
  }

  void add_window(const Encoding& window, size_t number, const QuestionRow& row, const std::string& where,
                  data::Features& features) const {
    auto column = features.columns.begin();
    const auto append = [&](const std::vector<int32_t>& numbers) {
      column->integers.insert(column->integers.end(), numbers.begin(), numbers.end());
      (column++)->lengths.push_back(static_cast<int32_t>(numbers.size()));
    };
    append(window.ids);
    append(window.type_ids);
    const ContextTokens context = context_of(window, where);
    if (options_.labels) {
      const auto [start, end] = answer_tokens(window, context, row.answer);
      append_number(start, *column++);
      append_number(end, *column++);
    }
    if (!options_.reading) return;
    append(spans_of(window, context));
    append_number(static_cast<int64_t>(number), *column++);
    const bool is_first = number == 0;
    append_text(is_first ? row.id : "", *column++);
    append_text(is_first ? row.context : "", *column++);
    append_text(is_first ? answers_json(row) : "", *column++);
  }

  ContextTokens context_of(const Encoding& window, const std::string& where) const {
    const std::vector<int32_t> sequences = window.sequence_ids();
    const int32_t wanted = options_.context_first ? 0 : 1;
    const auto begin = std::find(sequences.begin(), sequences.end(), wanted);
    if (begin == sequences.end())
      throw Error(ExitCode::kData, "the context of a row has no tokens")
          .where(where)
          .why("the tokenizer drops all of its characters")
          .hint("leave the row out");
    const auto end = std::find(sequences.rbegin(), sequences.rend(), wanted).base();
    return {static_cast<size_t>(begin - sequences.begin()), static_cast<size_t>(end - sequences.begin())};
  }

  std::pair<int64_t, int64_t> answer_tokens(const Encoding& window, const ContextTokens& context,
                                            const std::optional<CharacterSpan>& answer) const {
    const auto& offsets = window.offsets;
    const bool inside = answer && offsets[context.begin].first <= answer->begin &&
                        offsets[context.end - 1].second >= answer->end;
    if (!inside) return {no_answer_token(window.ids), no_answer_token(window.ids)};
    size_t start = context.begin, end = context.end - 1;
    while (start + 1 < context.end && offsets[start + 1].first <= answer->begin) ++start;
    while (end > context.begin && offsets[end - 1].second >= answer->end) --end;
    return {start, end};
  }

  // The first token that stands for the whole row, where there is one; padding may have the same id. Else the
  // first place of the row.
  int64_t no_answer_token(const std::vector<tokenizer::TokenId>& ids) const {
    const auto size = static_cast<int64_t>(ids.size());
    const bool is_filled = options_.filled_with && size < options_.max_length;
    for (const auto& id : {tokenizer_->cls_id(), tokenizer_->bos_id()}) {
      if (!id) continue;
      const bool as_padding = is_filled && *options_.filled_with == *id;
      if (as_padding && options_.context_first) return -1;
      const auto found = std::find(ids.begin(), ids.end(), *id);
      if (found != ids.end()) return found - ids.begin();
      if (as_padding) return size;
    }
    return -1;
  }

  static std::vector<int32_t> spans_of(const Encoding& window, const ContextTokens& context) {
    std::vector<int32_t> spans(2 * window.size(), -1);
    for (size_t i = context.begin; i < context.end; ++i) {
      spans[2 * i] = static_cast<int32_t>(window.offsets[i].first);
      spans[2 * i + 1] = static_cast<int32_t>(window.offsets[i].second);
    }
    return spans;
  }

  static std::string answers_json(const QuestionRow& row) {
    if (!row.answers_known) return "";
    Json texts = Json::array();
    for (const std::string_view text : row.answers) texts.push_back(std::string(text));
    return dump_json(texts, -1);
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  QuestionEncoding options_;
  tokenizer::EncodeOptions encode_options_;
};

}  // namespace

std::unique_ptr<data::Encoder> question_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                const QuestionEncoding& options) {
  return std::make_unique<QuestionEncoder>(std::move(tokenizer), options);
}

}  // namespace hftrain::tasks
