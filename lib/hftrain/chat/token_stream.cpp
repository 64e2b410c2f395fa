#include "hftrain/chat/token_stream.h"

namespace hftrain::chat {
namespace {

std::string kind_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::kData:
      return "text";
    case TokenKind::kPrintBegin:
      return "'{{'";
    case TokenKind::kPrintEnd:
      return "'}}'";
    case TokenKind::kTagBegin:
      return "'{%'";
    case TokenKind::kTagEnd:
      return "'%}'";
    case TokenKind::kName:
      return "a name";
    case TokenKind::kString:
      return "a text";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    case TokenKind::kSign:
      return "a sign";
    case TokenKind::kEnd:
      return "the end of the template";
  }
  return "";
}

}  // namespace

std::string TokenStream::description(const Token& token) {
  const bool shown = token.kind == TokenKind::kName || token.kind == TokenKind::kSign;
  return shown ? "'" + token.text + "'" : kind_name(token.kind);
}

Token TokenStream::take() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::skip_sign(std::string_view sign) {
  if (!at_sign(sign)) return false;
  take();
  return true;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  take();
  return true;
}

Token TokenStream::expect(TokenKind kind) {
  if (!at(kind)) fail("expected " + kind_name(kind) + ", got " + description(current()));
  return take();
}

void TokenStream::expect_sign(std::string_view sign) {
  if (!skip_sign(sign)) fail("expected '" + std::string(sign) + "', got " + description(current()));
}

void TokenStream::expect_name(std::string_view name) {
  if (!skip_name(name)) fail("expected '" + std::string(name) + "', got " + description(current()));
}

void TokenStream::fail(const std::string& why, Place place) const {
  throw template_error(origin_, place, why);
}

}  // namespace hftrain::chat
