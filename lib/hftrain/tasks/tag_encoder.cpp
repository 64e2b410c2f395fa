#include "hftrain/tasks/tag_encoder.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tasks/word_list.h"

namespace hftrain::tasks {
namespace {

constexpr int32_t kNotCounted = -100;

class TagEncoder final : public data::Encoder {
 public:
  TagEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, TagSet tags, const TagEncoding& encoding)
      : tokenizer_(std::move(tokenizer)), tags_(std::move(tags)), encoding_(encoding) {
    options_.truncation = tokenizer::Truncation{.max_length = encoding.max_length,
                                                .from_left = tokenizer_->truncates_from_left()};
  }

  data::FeatureSchema schema() const override {
    data::FeatureSchema schema = {{data::kInputIds, data::FeatureType::kTokenIds},
                                  {"token_type_ids", data::FeatureType::kInteger},
                                  {"labels", data::FeatureType::kInteger}};
    if (encoding_.predicts) schema.push_back({kWordStarts, data::FeatureType::kInteger});
    return schema;
  }

  void encode(const data::Records& records, data::Features& features) const override {
    tokenizer::TokenRow tokens;
    std::vector<int32_t> labels;
    for (size_t row = 0; row < records.rows(); ++row) {
      const WordList words = read_list(records, row, encoding_.words, ListOf::kWords);
      if (words.texts.empty()) throw no_words(records.where(row), "its list is empty");
      const bool known =
          !encoding_.predicts || records.value(row, encoding_.tags).kind() != data::ValueKind::kNull;
      std::vector<int32_t> numbers(words.texts.size(), 0);
      if (known) numbers = numbers_of(records, row, words.texts.size());
      tokenizer_->encode_row({std::span<const std::string>(words.texts)}, options_, tokens);
      if (tokens.ids.empty()) throw no_words(records.where(row), "none of its words gives a token");
      align(tokens.word_ids, numbers, labels);
      if (encoding_.predicts) mark_words(labels, features.columns[3]);
      if (!known) std::fill(labels.begin(), labels.end(), kNotCounted);
      features.columns[0].add_sequence(tokens.ids);
      features.columns[1].add_sequence(tokens.type_ids);
      features.columns[2].add_sequence(labels);
    }
  }

 private:
  static Error no_words(const std::string& where, const std::string& why) {
    return Error(ExitCode::kData, "a row has no words")
        .where(where)
        .why(why)
        .hint(
            "remove the row, or name the column of the words: --text_column_name, or the description of a "
            "plug-in");
  }

  // Of the tags, one for each word.
  std::vector<int32_t> numbers_of(const data::Records& records, size_t row, size_t words) const {
    const std::string where = records.where(row);
    const WordList tags = read_list(records, row, encoding_.tags, ListOf::kTags);
    if (tags.texts.size() != words)
      throw Error(ExitCode::kData, "a row has not as many tags as words")
          .where(where)
          .why(std::to_string(words) + " words, " + std::to_string(tags.texts.size()) + " tags")
          .hint("every word has one tag; O is that of a word outside of all entities");
    std::vector<int32_t> numbers;
    for (const std::string& tag : tags.texts) numbers.push_back(tags_.number_of(tag, where));
    return numbers;
  }

  static void mark_words(std::vector<int32_t> labels, data::FeatureValues& column) {
    for (int32_t& label : labels) label = label == kNotCounted ? 0 : 1;
    column.add_sequence(labels);
  }

  void align(const std::vector<int32_t>& words, const std::vector<int32_t>& numbers,
             std::vector<int32_t>& labels) const {
    labels.clear();
    int32_t previous = tokenizer::kUnassigned;
    for (const int32_t word : words) {
      if (word == tokenizer::kUnassigned) {
        labels.push_back(kNotCounted);
      } else {
        const int32_t number = numbers[static_cast<size_t>(word)];
        const int32_t further = encoding_.label_all_tokens ? tags_.continued(number) : kNotCounted;
        labels.push_back(word == previous ? further : number);
      }
      previous = word;
    }
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  tokenizer::EncodeOptions options_;
  TagSet tags_;
  TagEncoding encoding_;
};

}  // namespace

std::unique_ptr<data::Encoder> tag_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, TagSet tags,
                                           const TagEncoding& encoding) {
  return std::make_unique<TagEncoder>(std::move(tokenizer), std::move(tags), encoding);
}

}  // namespace hftrain::tasks
