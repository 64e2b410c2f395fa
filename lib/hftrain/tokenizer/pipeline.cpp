#include "hftrain/tokenizer/pipeline.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/aligned_text.h"
#include "hftrain/tokenizer/character_offsets.h"
#include "hftrain/tokenizer/truncation.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

namespace {

// Bytes that a decoder may make of tokens.
size_t most_decoded(const std::vector<std::string>& tokens) {
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return most_bytes_from(bytes);
}

// Calls `use` with valid UTF-8.
template <typename Use>
auto with_valid_text(std::string_view text, Use use) {
  return unicode::is_valid(text) ? use(text) : use(std::string_view(unicode::replace_invalid(text)));
}

// Calls `use` with the text and kUnassigned, or with every word and its number.
template <typename Use>
void for_each_text(const Sequence& sequence, Use use) {
  if (const auto* text = std::get_if<std::string_view>(&sequence)) return use(*text, kUnassigned);
  int32_t word = 0;
  for (const std::string& text : std::get<std::span<const std::string>>(sequence)) use(text, word++);
}

}  // namespace

Pipeline::Pipeline(PipelineParts parts, TokenizerSettings settings)
    : parts_(std::move(parts)), settings_(std::move(settings)) {
  for (const bool pair : {false, true}) {
    for (const bool add_special_tokens : {false, true})
      frames_[(pair ? 2 : 0) + (add_special_tokens ? 1 : 0)] =
          Frame::around(parts_.post_processor.get(), pair, add_special_tokens);
  }
  fast_ = FastEncoder::make(parts_.normalizer.get(), parts_.pre_tokenizer.get(), *parts_.model,
                            *parts_.added_tokens);
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

void Pipeline::encode_section(Section section, const CharacterOffsets& offsets, int32_t word, int32_t& pieces,
                              Encoding& encoding) const {
  const AlignedText& text = section.text;
  if (section.token != nullptr) {
    encoding.add(section.token->id, text.text(), offsets(text.original_of(0, text.text().size())),
                 word == kUnassigned ? pieces : word, false);
    ++pieces;
    return;
  }
  std::vector<AlignedText> cut;
  cut.push_back(std::move(section.text));
  if (parts_.pre_tokenizer) parts_.pre_tokenizer->cut(cut);
  std::vector<ModelToken> tokens;
  for (const AlignedText& piece : cut) {
    tokens.clear();
    if (!piece.empty()) parts_.model->tokenize(piece.text(), tokens);
    for (const ModelToken& token : tokens) {
      encoding.add(token.id, parts_.model->token_text(token, piece.text()),
                   offsets(piece.original_of(token.begin, token.end)), word == kUnassigned ? pieces : word,
                   false);
    }
    ++pieces;
  }
}

void Pipeline::encode_text(std::string_view text, int32_t word, Encoding& encoding) const {
  const CharacterOffsets offsets(text);
  if (fast_ != nullptr && fast_->encode(text, offsets, word, encoding)) return;
  int32_t pieces = 0;
  for (Section& section : sections_of(text)) {
    if (!section.text.empty()) encode_section(std::move(section), offsets, word, pieces, encoding);
  }
}

Encoding Pipeline::encode_sequence(const Sequence& sequence, int32_t type_id) const {
  Encoding encoding;
  const auto add = [&](std::string_view text, int32_t word) {
    with_valid_text(text, [&](std::string_view valid) { encode_text(valid, word, encoding); });
  };
  for_each_text(sequence, add);
  encoding.type_ids.assign(encoding.size(), type_id);
  return encoding;
}

size_t Pipeline::added_count(bool pair, bool add_special_tokens) const {
  return add_special_tokens && parts_.post_processor ? parts_.post_processor->added_count(pair) : 0;
}

// The texts of the input, cut to what special tokens leave.
std::vector<Encoding> Pipeline::texts_of(const EncodeInput& input, const EncodeOptions& options) const {
  std::vector<Encoding> texts;
  texts.push_back(encode_sequence(input.first, 0));
  if (input.second) texts.push_back(encode_sequence(*input.second, 1));
  if (!options.truncation) return texts;
  const std::optional<size_t> second = input.second ? std::optional(texts[1].size()) : std::nullopt;
  const auto kept =
      kept_lengths(*options.truncation, added_count(input.second.has_value(), options.add_special_tokens),
                   texts[0].size(), second);
  truncate(texts[0], kept.first, *options.truncation, options.windows);
  if (!input.second) return texts;
  truncate(texts[1], kept.second, *options.truncation, options.windows);
  refuse_windows((texts[0].overflowing.size() + 1) * (texts[1].overflowing.size() + 1),
                 static_cast<size_t>(options.truncation->max_length));
  return texts;
}

Encoding Pipeline::encode(const EncodeInput& input, const EncodeOptions& options) const {
  Encoding encoding =
      surround(parts_.post_processor.get(), texts_of(input, options), options.add_special_tokens);
  if (options.padding) pad(encoding, *options.padding);
  return encoding;
}

Encoding Pipeline::encode(std::string_view text, bool add_special_tokens) const {
  return encode(
      EncodeInput{text},
      {.add_special_tokens = add_special_tokens, .truncation = parts_.truncation, .padding = parts_.padding});
}

void Pipeline::text_ids(std::string_view text, std::vector<TokenId>& ids) const {
  with_valid_text(text, [&](std::string_view valid) {
    if (fast_ != nullptr && fast_->encode(valid, ids)) return;
    Encoding encoding;
    encode_text(valid, kUnassigned, encoding);
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
  });
}

TextIds Pipeline::sequence_ids(const Sequence& sequence) const {
  TextIds text;
  text.is_words = !std::holds_alternative<std::string_view>(sequence);
  for_each_text(sequence, [&](std::string_view part, int32_t word) {
    text_ids(part, text.ids);
    if (word != kUnassigned) text.word_ids.resize(text.ids.size(), word);
  });
  return text;
}

void Pipeline::encode_row(const EncodeInput& input, const EncodeOptions& options, TokenRow& row) const {
  const bool pair = input.second.has_value();
  const std::optional<Frame>& around = frame(pair, options.add_special_tokens);
  if (!around || options.padding) return Tokenizer::encode_row(input, options, row);
  TextIds first = sequence_ids(input.first), second;
  if (pair) second = sequence_ids(*input.second);
  if (options.truncation) {
    const auto kept = kept_lengths(*options.truncation, added_count(pair, options.add_special_tokens),
                                   first.ids.size(), pair ? std::optional(second.ids.size()) : std::nullopt);
    first.truncate(kept.first, *options.truncation);
    second.truncate(kept.second, *options.truncation);
  }
  around->fill(first, second, row);
}

void Pipeline::encode_into(std::string_view text, bool add_special_tokens, std::vector<TokenId>& ids) const {
  const std::optional<Frame>& around = frame(false, add_special_tokens);
  if (around && around->is_plain()) {
    ids.insert(ids.end(), around->before().begin(), around->before().end());
    text_ids(text, ids);
    ids.insert(ids.end(), around->after().begin(), around->after().end());
    return;
  }
  const Encoding encoding = encode(EncodeInput{text}, {.add_special_tokens = add_special_tokens});
  ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
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

std::vector<TokenId> Pipeline::special_ids() const {
  std::vector<TokenId> ids;
  const auto add = [&](std::optional<TokenId> id) {
    if (id) ids.push_back(*id);
  };
  for (const auto& id : {bos_id(), eos_id(), pad_id(), unk_id(), cls_id(), sep_id(), mask_id()}) add(id);
  for (const std::string& token : settings_.further_tokens) add(token_to_id(token));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::optional<TokenId> Pipeline::id_of(const std::optional<std::string>& token) const {
  return token ? token_to_id(*token) : std::nullopt;
}

}  // namespace hftrain::tokenizer
