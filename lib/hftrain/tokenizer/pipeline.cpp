#include "hftrain/tokenizer/pipeline.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Byte offsets of a text as offsets in characters.
class CharacterOffsets {
 public:
  explicit CharacterOffsets(std::string_view text) : size_(text.size()) {
    if (unicode::is_ascii(text)) return;
    index_.resize(text.size());
    uint32_t characters = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) ++characters;
      index_[i] = characters - 1;
    }
  }

  std::pair<int64_t, int64_t> operator()(std::pair<size_t, size_t> bytes) const {
    if (bytes.first >= size_) return bytes;  // nothing to count from
    const int64_t begin = at(bytes.first);
    if (bytes.second < size_) return {begin, at(bytes.second)};
    return {begin, (bytes.second - 1 < size_ ? at(bytes.second - 1) : begin + 1) + 1};
  }

 private:
  int64_t at(size_t byte) const { return index_.empty() ? static_cast<int64_t>(byte) : index_[byte]; }

  size_t size_;
  std::vector<uint32_t> index_;  // of each byte; empty for ASCII
};

template <typename T>
void keep(std::vector<T>& values, size_t begin, size_t end) {
  values.erase(values.begin() + static_cast<long>(end), values.end());
  values.erase(values.begin(), values.begin() + static_cast<long>(begin));
}

void keep(Encoding& encoding, size_t begin, size_t end) {
  keep(encoding.ids, begin, end);
  keep(encoding.tokens, begin, end);
  keep(encoding.offsets, begin, end);
  keep(encoding.type_ids, begin, end);
  keep(encoding.attention_mask, begin, end);
}

void append_ids(const std::vector<TokenId>& tail, std::vector<TokenId>& ids) {
  ids.insert(ids.end(), tail.begin(), tail.end());
}

// Bytes that a decoder may make of tokens: steps one after another can double a text each.
size_t most_decoded(const std::vector<std::string>& tokens) {
  constexpr size_t kMostGrowth = 32, kFreeGrowth = 1024;
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return kFreeGrowth + kMostGrowth * bytes;
}

// Calls `use` with valid UTF-8.
template <typename Use>
auto with_valid_text(std::string_view text, Use use) {
  return unicode::is_valid(text) ? use(text) : use(std::string_view(unicode::replace_invalid(text)));
}

}  // namespace

Pipeline::Pipeline(PipelineParts parts, TokenizerSettings settings)
    : parts_(std::move(parts)), settings_(std::move(settings)) {
  find_special_ids();
  fast_ = FastEncoder::make(parts_.normalizer.get(), parts_.pre_tokenizer.get(), *parts_.model,
                            *parts_.added_tokens);
}

// Asks the post-processor what it puts around a text that consists of one impossible token.
void Pipeline::find_special_ids() {
  const Encoding around = surround({{kNoToken}, {""}, {{0, 0}}, {0}, {1}}, true);
  const auto text = std::find(around.ids.begin(), around.ids.end(), kNoToken);
  surrounds_plainly_ = std::count(around.ids.begin(), around.ids.end(), kNoToken) == 1;
  if (!surrounds_plainly_) return;
  ids_before_.assign(around.ids.begin(), text);
  ids_after_.assign(text + 1, around.ids.end());
}

Encoding Pipeline::surround(Encoding encoding, bool add_special_tokens) const {
  if (!parts_.post_processor) return encoding;
  std::vector<Encoding> parts;
  parts.push_back(std::move(encoding));
  parts_.post_processor->process(parts, add_special_tokens);
  if (parts.size() == 1) return std::move(parts.front());
  Encoding whole;
  for (const Encoding& part : parts) whole.append(part);
  return whole;
}

std::vector<Pipeline::Section> Pipeline::sections_of(std::string_view text) const {
  std::vector<Section> sections;
  const AlignedText whole(text);
  for (const auto& [begin, end, token] : parts_.added_tokens->raw().find(text)) {
    AlignedText section = whole.slice(begin, end);
    if (token != nullptr) {
      sections.push_back({std::move(section), token});
      continue;
    }
    if (parts_.normalizer) parts_.normalizer->normalize(section);
    for (const auto& [part_begin, part_end, part_token] :
         parts_.added_tokens->normalized().find(section.text())) {
      sections.push_back({section.slice(part_begin, part_end), part_token});
    }
  }
  return sections;
}

Encoding Pipeline::encode_text(std::string_view text) const {
  Encoding encoding;
  const CharacterOffsets offsets(text);
  const auto add = [&](TokenId id, std::string_view token, std::pair<size_t, size_t> bytes) {
    encoding.ids.push_back(id);
    encoding.tokens.emplace_back(token);
    encoding.offsets.push_back(offsets(bytes));
  };
  std::vector<ModelToken> tokens;
  for (Section& section : sections_of(text)) {
    if (section.text.empty()) continue;
    if (section.token != nullptr) {
      add(section.token->id, section.text.text(), section.text.original_of(0, section.text.text().size()));
      continue;
    }
    std::vector<AlignedText> pieces;
    pieces.push_back(std::move(section.text));
    if (parts_.pre_tokenizer) parts_.pre_tokenizer->cut(pieces);
    for (const AlignedText& piece : pieces) {
      tokens.clear();
      if (!piece.empty()) parts_.model->tokenize(piece.text(), tokens);
      for (const ModelToken& token : tokens) {
        add(token.id, parts_.model->token_text(token, piece.text()),
            piece.original_of(token.begin, token.end));
      }
    }
  }
  encoding.type_ids.assign(encoding.ids.size(), 0);
  encoding.attention_mask.assign(encoding.ids.size(), 1);
  return encoding;
}

void Pipeline::truncate(Encoding& encoding, bool add_special_tokens) const {
  const Truncation& truncation = *parts_.truncation;
  const size_t added = add_special_tokens && parts_.post_processor ? parts_.post_processor->added_count() : 0;
  const int64_t room = std::max<int64_t>(0, truncation.max_length - static_cast<int64_t>(added));
  const auto length = static_cast<int64_t>(encoding.ids.size());
  if (length <= room) return;
  if (truncation.second_text && room > 0) {
    throw Error(ExitCode::kData, "this tokenizer truncates only a second text, and there is none");
  }
  const int64_t begin = truncation.from_left ? length - room : 0;
  keep(encoding, static_cast<size_t>(begin), static_cast<size_t>(begin + room));
}

void Pipeline::pad(Encoding& encoding) const {
  const Padding& padding = *parts_.padding;
  const auto length = static_cast<int64_t>(encoding.ids.size());
  int64_t target = padding.fixed_length.value_or(length);
  if (padding.multiple_of > 0 && target % padding.multiple_of > 0) {
    target += padding.multiple_of - target % padding.multiple_of;
  }
  if (target <= length) return;
  const auto count = static_cast<size_t>(target - length);
  Encoding pads;
  pads.ids.assign(count, padding.id);
  pads.tokens.assign(count, padding.token);
  pads.offsets.resize(count);
  pads.type_ids.assign(count, padding.type_id);
  pads.attention_mask.assign(count, 0);
  if (padding.on_left) std::swap(pads, encoding);
  encoding.append(pads);
}

Encoding Pipeline::encode(std::string_view text, bool add_special_tokens) const {
  Encoding encoding = with_valid_text(text, [this](std::string_view valid) { return encode_text(valid); });
  if (parts_.truncation) truncate(encoding, add_special_tokens);
  encoding = surround(std::move(encoding), add_special_tokens);
  if (parts_.padding) pad(encoding);
  return encoding;
}

void Pipeline::encode_into(std::string_view text, bool add_special_tokens, std::vector<TokenId>& ids) const {
  const size_t before = ids.size();
  const auto fast = [&](std::string_view valid) {
    if (add_special_tokens) append_ids(ids_before_, ids);
    if (!fast_->encode(valid, ids)) return false;
    if (add_special_tokens) append_ids(ids_after_, ids);
    return true;
  };
  const bool plain = surrounds_plainly_ || !add_special_tokens;
  if (fast_ != nullptr && plain && with_valid_text(text, fast)) return;
  ids.resize(before);
  Encoding encoding = with_valid_text(text, [this](std::string_view valid) { return encode_text(valid); });
  append_ids(surround(std::move(encoding), add_special_tokens).ids, ids);
}

std::optional<std::string> Pipeline::token_of(TokenId id) const {
  if (const AddedToken* token = parts_.added_tokens->by_id(id)) return token->normalized_content;
  const Vocabulary& vocabulary = parts_.model->vocabulary();
  if (id < 0 || !vocabulary.has_id(id)) return std::nullopt;
  return std::string(vocabulary.token_of(id));
}

std::string Pipeline::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const TokenId id : ids) {
    std::optional<std::string> token = token_of(id);
    if (!token || (skip_special_tokens && parts_.added_tokens->is_special(*token))) continue;
    tokens.push_back(std::move(*token));
  }
  if (parts_.decoder) parts_.decoder->decode(tokens, most_decoded(tokens));
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !parts_.decoder) text += ' ';
    text += tokens[i];
  }
  return text;
}

int64_t Pipeline::vocab_size() const {
  return std::max(parts_.model->vocabulary().end_id(), parts_.added_tokens->end_id());
}

std::optional<TokenId> Pipeline::token_to_id(std::string_view token) const {
  if (const AddedToken* added = parts_.added_tokens->by_content(token)) return added->id;
  const TokenId id = parts_.model->vocabulary().id_of(token);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

std::optional<TokenId> Pipeline::id_of(const std::optional<std::string>& token) const {
  return token ? token_to_id(*token) : std::nullopt;
}

}  // namespace hftrain::tokenizer
