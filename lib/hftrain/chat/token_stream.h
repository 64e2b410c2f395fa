// The words of a template one after another, as its parser takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hftrain/chat/token.h"

namespace hftrain::chat {

class TokenStream {
 public:
  // `tokens` end with kEnd.
  TokenStream(std::vector<Token> tokens, std::string origin)
      : tokens_(std::move(tokens)), origin_(std::move(origin)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token take();

  bool at(TokenKind kind) const { return current().kind == kind; }
  bool at_sign(std::string_view sign) const { return at(TokenKind::kSign) && current().text == sign; }
  bool at_name(std::string_view name) const { return at(TokenKind::kName) && current().text == name; }
  bool skip_sign(std::string_view sign);
  bool skip_name(std::string_view name);
  // Errors: something else stands here.
  Token expect(TokenKind kind);
  void expect_sign(std::string_view sign);
  void expect_name(std::string_view name);

  [[noreturn]] void fail(const std::string& why) const { fail(why, current().place); }
  [[noreturn]] void fail(const std::string& why, Place place) const;
  // "'for'", "end of print statement".
  static std::string description(const Token& token);

 private:
  std::vector<Token> tokens_;
  std::string origin_;
  size_t at_ = 0;
};

}  // namespace hftrain::chat
