#include "hftrain/tokenizer/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "hftrain/base/json.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

bool ends_with_word(std::string_view text) {
  return !text.empty() && unicode::is_word(unicode::decode(unicode::previous(text.data() + text.size())));
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && unicode::is_word(unicode::decode(text.data()));
}

size_t white_space_at_end(std::string_view text) {  // where it begins
  const char* p = text.data() + text.size();
  while (p > text.data() && unicode::is_white_space(unicode::decode(unicode::previous(p))))
    p = unicode::previous(p);
  return static_cast<size_t>(p - text.data());
}

size_t white_space_at_start(std::string_view text) {  // its size
  size_t size = 0;
  while (size < text.size() && unicode::is_white_space(unicode::decode(text.data() + size))) {
    size += unicode::size_of(text[size]);
  }
  return size;
}

AddedToken read_token(const JsonPart& part) {
  // The package reads a 32-bit number here, and then goes by the rule in the header.
  const JsonPart id = part.at("id");
  if (const int64_t number = id.integer(); number < 0 || number > std::numeric_limits<uint32_t>::max())
    throw id.error(std::to_string(number) + " is not a token id, which is 0 to 4294967295");
  AddedToken token;
  token.content = part.text("content");
  token.single_word = part.boolean("single_word", false);
  token.lstrip = part.boolean("lstrip", false);
  token.rstrip = part.boolean("rstrip", false);
  token.special = part.boolean("special", false);
  token.normalized = part.boolean("normalized", !token.special);
  return token;
}

// `token` stands in the white space that `before` has taken, and takes what is on its left: between the two
// there would be less than nothing. The package panics.
Error take_the_same_space(const AddedToken& before, const AddedToken& token) {
  return Error(ExitCode::kData, "a text cannot be cut at two added tokens of the tokenizer")
      .why(Json(before.content).dump() + " takes the white space behind it (rstrip), and " +
           Json(token.content).dump() + ", which stands in there, takes the white space before it (lstrip)")
      .hint("set one of the two to false in tokenizer.json; or take the white space out of the text");
}

}  // namespace

uint32_t TokenFinder::Node::child(uint8_t byte) const {
  for (const auto& [value, node] : children) {
    if (value == byte) return node;
  }
  return 0;
}

void TokenFinder::add(std::string_view text, const AddedToken* token) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (!starts_[first]) ++start_count_;
  starts_[first] = true;
  only_start_ = text[0];
  uint32_t at = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t next = nodes_[at].child(byte);
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      nodes_[at].children.emplace_back(byte, next);
      nodes_.emplace_back();
    }
    at = next;
  }
  nodes_[at].token = token;
}

size_t TokenFinder::next_candidate(std::string_view text, size_t from) const {
  if (start_count_ == 1) {
    const void* found =
        from < text.size() ? std::memchr(text.data() + from, only_start_, text.size() - from) : nullptr;
    return found == nullptr ? text.size()
                            : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < text.size() && !starts_[static_cast<uint8_t>(text[from])]) ++from;
  return from;
}

const AddedToken* TokenFinder::longest_at(std::string_view text, size_t at, size_t& size) const {
  const AddedToken* longest = nullptr;
  uint32_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    node = nodes_[node].child(static_cast<uint8_t>(text[i]));
    if (node == 0) break;
    if (nodes_[node].token != nullptr) {
      longest = nodes_[node].token;
      size = i + 1 - at;
    }
  }
  return longest;
}

std::vector<TokenFinder::Part> TokenFinder::find(std::string_view text) const {
  std::vector<Part> parts;
  size_t written = 0;  // up to here the text is in parts
  if (!empty()) {
    for (size_t at = next_candidate(text, 0); at < text.size();) {
      size_t size = 0;
      const AddedToken* token = longest_at(text, at, size);
      if (token == nullptr) {
        at = next_candidate(text, at + 1);
        continue;
      }
      size_t begin = at, end = at + size;
      at = next_candidate(text, end);
      if (token->single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
        continue;
      if (token->lstrip) begin = std::max(white_space_at_end(text.substr(0, begin)), written);
      if (token->rstrip) end += white_space_at_start(text.substr(end));
      if (begin > end) throw take_the_same_space(*parts.back().token, *token);
      if (written < begin) parts.push_back({written, begin, nullptr});
      if (begin < end) parts.push_back({begin, end, token});  // else the token before has taken it whole
      written = end;
    }
  }
  if (written != text.size()) parts.push_back({written, text.size(), nullptr});
  return parts;
}

AddedTokens::AddedTokens(const std::vector<JsonPart>& parts, const Vocabulary& vocabulary,
                         const Normalizer* normalizer) {
  tokens_.reserve(parts.size());
  auto next_id = static_cast<TokenId>(vocabulary.size());
  for (const JsonPart& part : parts) {
    AddedToken token = read_token(part);
    if (token.content.empty()) continue;
    const AddedToken* known = by_content(token.content);
    token.id = known != nullptr ? known->id : vocabulary.id_of(token.content);
    if (token.id == kNoToken) token.id = next_id++;
    token.normalized_content = token.content;
    if (token.normalized && normalizer != nullptr) {
      AlignedText text(token.content);
      normalizer->normalize(text);
      token.normalized_content = text.text();
    }
    if (token.special) special_.insert(token.content);
    end_id_ = std::max(end_id_, token.id + 1);
    by_content_[token.content] = tokens_.size();
    by_id_[token.id] = tokens_.size();
    tokens_.push_back(std::move(token));
  }
  for (const auto& [id, index] : by_id_) {
    const AddedToken& token = tokens_[index];
    if (!token.normalized) {
      raw_.add(token.content, &token);
    } else if (!token.normalized_content.empty()) {
      normalized_.add(token.normalized_content, &token);
    }
  }
}

const AddedToken* AddedTokens::by_id(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace hftrain::tokenizer
