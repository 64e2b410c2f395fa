// The text of tokens as they come: only what later tokens can no longer change.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hftrain/generation/stop_strings.h"

namespace hftrain::generation {

// Characters may be spread over tokens, and decoders look at neighbours: what is given out is what the texts with and
// without the last token have in common, without a trailing U+FFFD, which stands for a character that is not complete. So
// it lags a token behind. For one text, from one thread.
class StreamedText {
 public:
  // `decode` as it is to be shown. `spells`: whether a token is one of several that are only read together (<0x41>, a byte
  // of a character); may be empty.
  StreamedText(DecodeIds decode, std::function<bool(int64_t)> spells);

  // What comes next with one more token; often empty.
  std::string add(int64_t token);
  // The rest. With what add() gave it is the whole text.
  std::string finish();

 private:
  DecodeIds decode_;
  std::function<bool(int64_t)> spells_;
  std::vector<int64_t> ids_;
  std::string text_;  // of the tokens up to the last that does not spell
  size_t shown_ = 0;  // bytes
};

}  // namespace hftrain::generation
