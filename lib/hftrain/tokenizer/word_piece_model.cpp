#include "hftrain/tokenizer/word_piece_model.h"

#include <utility>

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

WordPieceModel::WordPieceModel(Vocabulary vocabulary, WordPieceOptions options)
    : vocabulary_(std::move(vocabulary)),
      options_(std::move(options)),
      trie_(vocabulary_),
      continuing_(trie_.walk(TokenTrie::kRoot, options_.continuing_prefix)),
      unknown_id_(vocabulary_.id_of(options_.unknown_token)) {}

void WordPieceModel::tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const {
  const size_t before = tokens.size();
  // A character has four bytes at most.
  const auto most = static_cast<uint64_t>(options_.max_word_characters);
  const bool fits = piece.size() <= most || (piece.size() / 4 <= most && unicode::count(piece) <= most);
  if (fits && append_tokens(piece, tokens)) return;
  tokens.resize(before);
  if (unknown_id_ == kNoToken) throw unknown_is_no_token(options_.unknown_token);
  tokens.push_back({unknown_id_, 0, static_cast<uint32_t>(piece.size())});
}

bool WordPieceModel::append_tokens(std::string_view piece, std::vector<ModelToken>& tokens) const {
  for (size_t begin = 0; begin < piece.size();) {
    TokenId longest = kNoToken;
    size_t longest_end = begin;
    TokenTrie::Node node = begin == 0 ? TokenTrie::kRoot : continuing_;
    for (size_t i = begin; i < piece.size() && node != TokenTrie::kNowhere; ++i) {
      node = trie_.step(node, piece[i]);
      if (node == TokenTrie::kNowhere || trie_.token_at(node) == kNoToken) continue;
      longest = trie_.token_at(node);
      longest_end = i + 1;
    }
    if (longest == kNoToken) return false;
    tokens.push_back({longest, static_cast<uint32_t>(begin), static_cast<uint32_t>(longest_end)});
    begin = longest_end;
  }
  return true;
}

}  // namespace hftrain::tokenizer
