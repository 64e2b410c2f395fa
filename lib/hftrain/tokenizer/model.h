// The part of a pipeline that turns a piece of text into tokens of a vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {

// One token of a piece; [begin, end) are bytes of the piece.
struct ModelToken {
  TokenId id;
  uint32_t begin;
  uint32_t end;
};

// Immutable after loading; all members may be called from any thread.
class Model {
 public:
  virtual ~Model() = default;
  // Appends the tokens of `piece`, which is valid UTF-8 and not empty.
  virtual void tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const = 0;
  // What the token is called in an Encoding.
  virtual std::string_view token_text(const ModelToken& token, std::string_view /*piece*/) const {
    return vocabulary().token_of(token.id);
  }
  virtual const Vocabulary& vocabulary() const = 0;
};

// For a text that needs the unknown token, when that is in no vocabulary. Exit code 4.
Error unknown_is_no_token(const std::string& unknown_token);
// What a byte of a character that is in no token is called: <0x0A>.
std::string byte_fallback_token(uint8_t byte);

}  // namespace hftrain::tokenizer
