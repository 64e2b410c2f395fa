#include "hftrain/tokenizer/pattern_part.h"

#include <stdexcept>

namespace hftrain::tokenizer {

std::shared_ptr<const Pattern> read_pattern(const JsonPart& part) {
  if (part.has("String")) return Pattern::literal(part.text("String"));
  try {
    return Pattern::regex(part.text("Regex"));
  } catch (const std::invalid_argument& reason) {
    throw part.unsupported(reason.what());
  }
}

}  // namespace hftrain::tokenizer
