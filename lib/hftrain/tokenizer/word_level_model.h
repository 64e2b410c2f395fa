// Every piece is one token, or unknown.
#pragma once

#include <string>

#include "hftrain/tokenizer/model.h"

namespace hftrain::tokenizer {

class WordLevelModel : public Model {
 public:
  WordLevelModel(Vocabulary vocabulary, std::string unknown_token);

  // Throws Error (exit code 4) for an unknown piece when the unknown token is not in the vocabulary.
  void tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::string unknown_token_;
  TokenId unknown_id_;
};

}  // namespace hftrain::tokenizer
