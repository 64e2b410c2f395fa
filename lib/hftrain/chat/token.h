// The words of a template.
#pragma once

#include <string>
#include <vector>

#include "hftrain/chat/runtime.h"

namespace hftrain::chat {

enum class TokenKind {
  kData,
  kPrintBegin,
  kPrintEnd,
  kTagBegin,
  kTagEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kSign,
  kEnd
};

struct Token {
  TokenKind kind;
  std::string text;  // of a string its value; of a number its digits without underscores
  Place place;
};

// Cuts a template as Jinja does with trim_blocks and lstrip_blocks: one newline behind a tag goes, and blanks before a tag
// that begins its line. Comments and raw marks are gone. Errors (kData): with origin:line:column.
std::vector<Token> tokens_of(std::string source, const std::string& origin);

// The value of a string literal, of what stands between its quotes. Errors: a broken escape.
std::string literal_text(std::string_view inside, const std::string& origin, Place place);

}  // namespace hftrain::chat
