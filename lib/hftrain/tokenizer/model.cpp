#include "hftrain/tokenizer/model.h"

namespace hftrain::tokenizer {

Error unknown_is_no_token(const std::string& unknown_token) {
  return Error(ExitCode::kData, "the text has something that the tokenizer does not know")
      .why("its unk_token '" + unknown_token + "' is not in the vocabulary either")
      .hint("add the token to the vocabulary of its tokenizer.json, or take another tokenizer");
}

std::string byte_fallback_token(uint8_t byte) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

}  // namespace hftrain::tokenizer
