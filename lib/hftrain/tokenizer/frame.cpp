#include "hftrain/tokenizer/frame.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/truncation.h"
#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {
namespace {

// Stands for a text: ids that no token has.
constexpr TokenId kTexts[] = {kNoToken, kNoToken - 1};

template <typename T>
void cut_to(std::vector<T>& values, size_t length, bool from_left) {
  if (values.size() <= length) return;
  if (from_left) values.erase(values.begin(), values.end() - static_cast<long>(length));
  values.resize(length);
}

}  // namespace

void TextIds::truncate(size_t length, const Truncation& truncation) {
  if (ids.size() <= length) return;
  refuse_stride(truncation, length);
  cut_to(ids, length, truncation.from_left);
  cut_to(word_ids, length, truncation.from_left);
}

Encoding surround(const PostProcessor* processor, std::vector<Encoding> texts, bool add_special_tokens) {
  if (processor == nullptr && texts.size() == 1) return std::move(texts.front());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    texts[i].set_sequence_id(id);
    texts[i].type_ids.assign(texts[i].size(), id);
    if (processor == nullptr) continue;
    for (Encoding& window : texts[i].overflowing) window.set_sequence_id(id);
  }
  if (processor != nullptr) processor->process(texts, add_special_tokens);
  Encoding whole;
  for (Encoding& text : texts) whole.append(std::move(text));
  return whole;
}

std::optional<Frame> Frame::around(const PostProcessor* processor, bool pair, bool add_special_tokens) {
  std::vector<Encoding> texts(pair ? 2 : 1);
  for (size_t i = 0; i < texts.size(); ++i) texts[i].add(kTexts[i], "", {0, 0}, kUnassigned, false);
  Encoding whole;
  try {
    whole = surround(processor, std::move(texts), add_special_tokens);
  } catch (const Error&) {
    return std::nullopt;  // told when such an input comes
  }
  std::vector<Part> parts;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int32_t sequence = whole.ids[i] == kTexts[0] ? 0 : whole.ids[i] == kTexts[1] ? 1 : kUnassigned;
    parts.push_back({sequence, whole.ids[i], whole.type_ids[i]});
  }
  return Frame(std::move(parts));
}

Frame::Frame(std::vector<Part> parts) : parts_(std::move(parts)) {
  const auto is_text = [](const Part& part) { return part.sequence != kUnassigned; };
  is_plain_ = std::count_if(parts_.begin(), parts_.end(), is_text) == 1 &&
              std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.sequence < 1; });
  bool behind = false;
  for (const Part& part : parts_) {
    behind |= is_text(part);
    if (!is_text(part)) (behind ? after_ : before_).push_back(part.id);
  }
}

void Frame::fill(const TextIds& first, const TextIds& second, TokenRow& row) const {
  row.clear();
  const bool has_words = first.is_words || second.is_words;
  for (const Part& part : parts_) {
    const bool special = part.sequence == kUnassigned;
    const TextIds& text = part.sequence == 1 ? second : first;
    const size_t size = row.ids.size() + (special ? 1 : text.ids.size());
    if (special) {
      row.ids.push_back(part.id);
    } else {
      row.ids.insert(row.ids.end(), text.ids.begin(), text.ids.end());
      if (has_words) row.word_ids.insert(row.word_ids.end(), text.word_ids.begin(), text.word_ids.end());
    }
    row.type_ids.resize(size, part.type_id);
    row.special_tokens_mask.resize(size, special ? 1 : 0);
    if (has_words) row.word_ids.resize(size, kUnassigned);
  }
}

}  // namespace hftrain::tokenizer
