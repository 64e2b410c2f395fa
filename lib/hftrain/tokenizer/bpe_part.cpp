#include "hftrain/tokenizer/bpe_part.h"

#include <algorithm>
#include <utility>

#include "hftrain/tokenizer/bpe_model.h"
#include "hftrain/tokenizer/metaspace.h"
#include "hftrain/tokenizer/vocabulary_part.h"

namespace hftrain::tokenizer {
namespace {

// Both spellings: ["a", "b"] and "a b".
std::pair<std::string_view, std::string_view> read_merge(simdjson::dom::element item, const JsonPart& part) {
  std::string_view text;
  if (item.get_string().get(text) == simdjson::SUCCESS) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      throw part.error("the merge '" + std::string(text) + "' is not two tokens");
    }
    return {text.substr(0, space), text.substr(space + 1)};
  }
  simdjson::dom::array pair;
  std::string_view left, right;
  if (item.get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      pair.at(0).get_string().get(left) != simdjson::SUCCESS ||
      pair.at(1).get_string().get(right) != simdjson::SUCCESS) {
    throw part.error("a merge is not two tokens");
  }
  return {left, right};
}

class MergeReader {
 public:
  MergeReader(const JsonPart& part, const Vocabulary& vocabulary, size_t prefix_size)
      : part_(part), vocabulary_(vocabulary), prefix_size_(prefix_size) {}

  MergeTable read() {
    simdjson::dom::array merges;
    if (part_.element().get_array().get(merges) != simdjson::SUCCESS)
      throw part_.error("a list is needed here");
    MergeTable table;
    table.reserve(std::max(merges.size(), count_of(merges)));
    uint32_t rank = 0;
    for (const simdjson::dom::element item : merges) {
      std::string_view text;
      if (item.get_string().get(text) == simdjson::SUCCESS && text.starts_with("#version")) continue;
      const auto [left, right] = read_merge(item, part_);
      add(left, right, rank++, table);
    }
    return table;
  }

  // No merge joins a ▁ to something that is not ▁ on its left.
  bool keeps_space_marks_in_front() const { return keeps_space_marks_in_front_; }

 private:
  // simdjson caps the size it remembers at 2^24 - 1.
  static size_t count_of(simdjson::dom::array merges) {
    if (merges.size() < 0xFFFFFF) return merges.size();
    size_t count = 0;
    for ([[maybe_unused]] const simdjson::dom::element item : merges) ++count;
    return count;
  }

  TokenId id_of(std::string_view token) const {
    const TokenId id = vocabulary_.id_of(token);
    if (id == kNoToken) {
      throw part_.error("a merge names '" + std::string(token) + "', which is not in the vocabulary");
    }
    return id;
  }

  void add(std::string_view left, std::string_view right, uint32_t rank, MergeTable& table) {
    const TokenId left_id = id_of(left), right_id = id_of(right);
    merged_.assign(left);
    merged_ += right.substr(std::min(prefix_size_, right.size()));
    table.add(left_id, right_id, {rank, id_of(merged_)});
    if (right.starts_with(kSpaceMark) && !left.ends_with(kSpaceMark)) keeps_space_marks_in_front_ = false;
  }

  const JsonPart& part_;
  const Vocabulary& vocabulary_;
  size_t prefix_size_;
  std::string merged_;
  bool keeps_space_marks_in_front_ = true;
};

void refuse_dropout(const JsonPart& part) {
  const auto dropout = part.find("dropout");
  if (!dropout) return;
  double value = 0;
  if (dropout->element().get_double().get(value) != simdjson::SUCCESS)
    throw dropout->error("a number is needed here");
  if (value != 0)
    throw dropout->unsupported("dropout of merges makes tokens random; only null and 0 are taken");
}

}  // namespace

std::shared_ptr<const Model> read_bpe(const JsonPart& part) {
  refuse_dropout(part);
  BpeOptions options;
  if (part.has("unk_token")) options.unknown_token = part.text("unk_token");
  if (part.has("continuing_subword_prefix"))
    options.continuing_prefix = part.text("continuing_subword_prefix");
  if (part.has("end_of_word_suffix")) options.end_of_word = part.text("end_of_word_suffix");
  options.fuse_unknown = part.boolean("fuse_unk", false);
  options.byte_fallback = part.boolean("byte_fallback", false);
  options.ignore_merges = part.boolean("ignore_merges", false);
  Vocabulary vocabulary = read_vocabulary(part.at("vocab"));
  const JsonPart merges = part.at("merges");
  MergeReader reader(merges, vocabulary, options.continuing_prefix.size());
  MergeTable table = reader.read();
  const bool cuts = reader.keeps_space_marks_in_front() && vocabulary.id_of(kSpaceMark) != kNoToken &&
                    options.continuing_prefix.empty() && options.end_of_word.empty() &&
                    !options.ignore_merges;
  auto model = std::make_shared<BpeModel>(std::move(vocabulary), std::move(table), std::move(options));
  model->set_splits_before_metaspace(cuts);
  return model;
}

}  // namespace hftrain::tokenizer
