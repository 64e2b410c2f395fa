#include "hftrain/tokenizer/word_level_model.h"

#include <utility>

namespace hftrain::tokenizer {

WordLevelModel::WordLevelModel(Vocabulary vocabulary, std::string unknown_token)
    : vocabulary_(std::move(vocabulary)),
      unknown_token_(std::move(unknown_token)),
      unknown_id_(vocabulary_.id_of(unknown_token_)) {}

void WordLevelModel::tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const {
  TokenId id = vocabulary_.id_of(piece);
  if (id == kNoToken) id = unknown_id_;
  if (id == kNoToken) throw unknown_is_no_token(unknown_token_);
  tokens.push_back({id, 0, static_cast<uint32_t>(piece.size())});
}

}  // namespace hftrain::tokenizer
