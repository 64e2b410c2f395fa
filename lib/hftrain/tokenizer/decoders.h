// From tokens back to text: a chain of small steps over a list of strings, joined at the end.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/tokenizer/json_part.h"

namespace hftrain::tokenizer {

// Immutable; may be called from any thread.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Error (exit code 4) where steps that replace text make more than `most` bytes of it.
  virtual void decode(std::vector<std::string>& tokens, size_t most) const = 0;
};

// The `decoder` of a tokenizer.json. Throws Error (exit code 4) for a type that is not known.
std::shared_ptr<const Decoder> read_decoder(const JsonPart& part);

}  // namespace hftrain::tokenizer
