// The first step of a pipeline: rewrites text (Unicode normal forms, lower case, replacements) and keeps its
// alignment.
#pragma once

#include <memory>

#include "hftrain/tokenizer/aligned_text.h"
#include "hftrain/tokenizer/json_part.h"

namespace hftrain::tokenizer {

// Immutable; may be called from any thread.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(AlignedText& text) const = 0;
  // What an encoder that needs no offsets may do instead of calling `normalize`.
  enum class Shortcut {
    kNone,
    kNfc,               // NFC and nothing else
    kSpaceMarks,        // every space becomes ▁
    kPrependSpaceMark,  // a ▁ in front of text that is not empty
    kPrependSpaceMarkAndReplace,
  };
  virtual Shortcut shortcut() const { return Shortcut::kNone; }
  // True when a text can be cut in front of any space that stands between two characters that combine with
  // nothing (letters of ASCII and the like), and normalised part by part.
  virtual bool works_between_spaces() const { return false; }
  // True when `c` becomes the same wherever it stands between characters of which this is true as well.
  virtual bool keeps_apart(char32_t /*c*/) const { return false; }
  // True when Chinese characters get spaces around them, so that a text can be cut there as at spaces.
  virtual bool surrounds_han() const { return false; }
};

// The `normalizer` of a tokenizer.json. Throws Error (exit code 4) for a type that is not known.
std::shared_ptr<const Normalizer> read_normalizer(const JsonPart& part);

}  // namespace hftrain::tokenizer
