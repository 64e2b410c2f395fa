#include "hftrain/tokenizer/unigram_model.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
UnigramModel::UnigramModel(Vocabulary vocabulary, std::vector<double> scores,
                           std::optional<TokenId> unknown_id, bool byte_fallback)
    : vocabulary_(std::move(vocabulary)),
      scores_(std::move(scores)),
      trie_(vocabulary_),
      unknown_id_(unknown_id.value_or(kNoToken)) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const double score : scores_) lowest = std::min(lowest, score);
  unknown_score_ = lowest - kUnknownPenalty;
  for (int byte = 0; byte < 256; ++byte)
    fallback_ids_[byte] =
        byte_fallback ? vocabulary_.id_of(byte_fallback_token(static_cast<uint8_t>(byte))) : kNoToken;
}

void UnigramModel::find_best_arrivals(std::string_view piece, std::span<Arrival> best) const {
  std::fill(best.begin(), best.end(), Arrival{0, kNever, kNoToken});
  const auto arrive = [&](size_t begin, size_t end, double score) -> Arrival* {
    Arrival& arrival = best[end];
    if (arrival.begin != kNever && !(score > arrival.score)) return nullptr;  // of equal ones the first stays
    arrival.score = score;
    arrival.begin = static_cast<uint32_t>(begin);
    return &arrival;
  };
  for (size_t begin = 0, size; begin < piece.size(); begin += size) {
    size = unicode::size_of(piece[begin]);
    const double so_far = best[begin].score;
    bool is_token = false;  // the character alone
    TokenTrie::Node node = TokenTrie::kRoot;
    for (size_t end = begin; end < piece.size();) {
      node = trie_.step(node, piece[end++]);
      if (node == TokenTrie::kNowhere) break;
      const TokenId id = trie_.token_at(node);
      if (id == kNoToken) continue;
      if (Arrival* arrival = arrive(begin, end, scores_[static_cast<size_t>(id)] + so_far)) arrival->id = id;
      is_token = is_token || end == begin + size;
    }
    if (is_token) continue;
    Arrival* arrival = arrive(begin, begin + size, unknown_score_ + so_far);
    if (arrival == nullptr) continue;
    if (unknown_id_ == kNoToken) {
      throw Error(ExitCode::kData, "the text has a character that the tokenizer does not know")
          .why("its unk_id is null: it has no token for '" + std::string(piece.substr(begin, size)) + "'")
          .hint("give the tokenizer an unk_id, or leave such characters out");
    }
    arrival->id = unknown_id_;
  }
}

void UnigramModel::tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const {
  constexpr size_t kShort = 255;  // most pieces, which need no memory of their own
  if (piece.size() <= kShort) {
    std::array<Arrival, kShort + 1> best;  // filled by who finds them
    return append_best(piece, std::span(best).first(piece.size() + 1), tokens);
  }
  std::vector<Arrival> best(piece.size() + 1);
  append_best(piece, best, tokens);
}

void UnigramModel::append_best(std::string_view piece, std::span<Arrival> best,
                               std::vector<ModelToken>& tokens) const {
  find_best_arrivals(piece, best);
  const size_t before = tokens.size();
  bool has_unknown = false;
  for (auto end = static_cast<uint32_t>(piece.size()); end > 0; end = best[end].begin) {
    const auto& [score, begin, id] = best[end];
    const bool is_unknown = unknown_id_ != kNoToken && id == unknown_id_;
    if (is_unknown && tokens.size() > before && tokens.back().id == unknown_id_) {
      tokens.back().begin = begin;
    } else {
      tokens.push_back({id, begin, end});
    }
    has_unknown |= is_unknown;
  }
  std::reverse(tokens.begin() + static_cast<long>(before), tokens.end());
  if (has_unknown) spell_unknown(piece, before, tokens);
}

// Tokens from `from` on, of which some are unknown.
void UnigramModel::spell_unknown(std::string_view piece, size_t from, std::vector<ModelToken>& tokens) const {
  const std::vector<ModelToken> spelled(tokens.begin() + static_cast<long>(from), tokens.end());
  tokens.resize(from);
  for (const ModelToken& token : spelled) {
    if (token.id == unknown_id_) {
      append_unknown(piece, token.begin, token.end, tokens);
    } else {
      tokens.push_back(token);
    }
  }
}

bool UnigramModel::knows_bytes(std::string_view text) const {
  return std::all_of(text.begin(), text.end(),
                     [this](char byte) { return fallback_ids_[static_cast<uint8_t>(byte)] != kNoToken; });
}

// Unknown characters together may spell a token after all.
void UnigramModel::append_unknown(std::string_view piece, uint32_t begin, uint32_t end,
                                  std::vector<ModelToken>& tokens) const {
  const std::string_view text = piece.substr(begin, end - begin);
  if (const TokenId id = vocabulary_.id_of(text); id != kNoToken) {
    tokens.push_back({id, begin, end});
  } else if (knows_bytes(text)) {
    for (const char byte : text) tokens.push_back({fallback_ids_[static_cast<uint8_t>(byte)], begin, end});
  } else {
    tokens.push_back({unknown_id_, begin, end});
  }
}

std::string_view UnigramModel::token_text(const ModelToken& token, std::string_view piece) const {
  const std::string_view text = piece.substr(token.begin, token.end - token.begin);
  const bool is_byte = knows_bytes(text) && vocabulary_.id_of(text) == kNoToken;
  return is_byte ? vocabulary_.token_of(token.id) : text;
}

}  // namespace hftrain::tokenizer
