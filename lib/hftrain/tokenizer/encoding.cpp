#include "hftrain/tokenizer/encoding.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hftrain::tokenizer {
namespace {

template <typename T>
void append_values(std::vector<T>& values, const std::vector<T>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& values, size_t begin, size_t end) {
  return {values.begin() + static_cast<long>(begin), values.begin() + static_cast<long>(end)};
}

void append_texts(std::vector<std::string>& texts, const std::vector<std::string>& more) {
  append_values(texts, more);
}
void append_texts(std::vector<std::string>& texts, std::vector<std::string>&& more) {
  texts.insert(texts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// The tokens of `tail` behind those of `head`; windows stay as they are.
template <typename Tail>
void append_tokens(Encoding& head, Tail&& tail) {
  const size_t before = head.size();
  for (const Encoding::SequenceRange& range : tail.sequence_ranges) {
    std::erase_if(head.sequence_ranges, [&](const auto& known) { return known.id == range.id; });
    head.sequence_ranges.push_back({range.id, before + range.begin, before + range.end});
  }
  append_values(head.ids, tail.ids);
  append_values(head.offsets, tail.offsets);
  append_values(head.type_ids, tail.type_ids);
  append_values(head.attention_mask, tail.attention_mask);
  append_values(head.special_tokens_mask, tail.special_tokens_mask);
  append_values(head.word_ids, tail.word_ids);
  append_texts(head.tokens, std::forward<Tail>(tail).tokens);
}

Encoding joined(Encoding head, const Encoding& tail) {
  head.overflowing.clear();
  append_tokens(head, tail);
  return head;
}

// The range of sequence `id`, or all tokens.
Encoding::SequenceRange range_of(const Encoding& encoding, int32_t id) {
  for (const Encoding::SequenceRange& range : encoding.sequence_ranges) {
    if (range.id == id) return range;
  }
  return {id, 0, encoding.size()};
}

}  // namespace

void Encoding::add(TokenId id, std::string_view token, std::pair<int64_t, int64_t> offset, int32_t word,
                   bool special) {
  ids.push_back(id);
  tokens.emplace_back(token);
  offsets.push_back(offset);
  type_ids.push_back(0);
  attention_mask.push_back(1);
  special_tokens_mask.push_back(special ? 1 : 0);
  word_ids.push_back(word);
}

std::vector<int32_t> Encoding::sequence_ids() const {
  std::vector<int32_t> sequences(size(), kUnassigned);
  const auto count = static_cast<int32_t>(std::max<size_t>(1, sequence_ranges.size()));
  for (int32_t id = 0; id < count; ++id) {
    const SequenceRange range = range_of(*this, id);
    for (size_t i = range.begin; i < range.end && i < sequences.size(); ++i) sequences[i] = id;
  }
  return sequences;
}

std::optional<size_t> Encoding::char_to_token(int64_t position, int32_t sequence) const {
  const SequenceRange range = range_of(*this, sequence);
  for (size_t i = range.begin; i < range.end && i < offsets.size(); ++i) {
    if (offsets[i].first <= position && position < offsets[i].second) return i;
  }
  return std::nullopt;
}

void Encoding::set_sequence_id(int32_t id) {
  std::erase_if(sequence_ranges, [&](const SequenceRange& range) { return range.id == id; });
  sequence_ranges.push_back({id, 0, size()});
}

void Encoding::append(Encoding tail) {
  if (ids.empty() && sequence_ranges.empty() && overflowing.empty()) {
    *this = std::move(tail);
    return;
  }
  std::vector<Encoding> windows;
  windows.reserve(overflowing.size() + tail.overflowing.size());
  for (const Encoding& window : overflowing) {
    windows.push_back(joined(window, tail));
    for (const Encoding& other : tail.overflowing) windows.push_back(joined(window, other));
  }
  overflowing.clear();
  for (const Encoding& other : tail.overflowing) windows.push_back(joined(*this, other));
  append_tokens(*this, std::move(tail));
  overflowing = std::move(windows);
}

Encoding Encoding::slice(size_t begin, size_t end) const {
  Encoding part;
  part.ids = part_of(ids, begin, end);
  part.tokens = part_of(tokens, begin, end);
  part.offsets = part_of(offsets, begin, end);
  part.type_ids = part_of(type_ids, begin, end);
  part.attention_mask = part_of(attention_mask, begin, end);
  part.special_tokens_mask = part_of(special_tokens_mask, begin, end);
  part.word_ids = part_of(word_ids, begin, end);
  return part;
}

void TokenRow::clear() {
  ids.clear();
  type_ids.clear();
  special_tokens_mask.clear();
  word_ids.clear();
}

}  // namespace hftrain::tokenizer
