// The step behind the model: trims offsets and puts special tokens around the text.
#pragma once

#include <memory>
#include <vector>

#include "hftrain/tokenizer/encoding.h"
#include "hftrain/tokenizer/json_part.h"

namespace hftrain::tokenizer {

// Immutable; may be called from any thread.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // Special tokens that one text gets, or two together; truncation leaves room for them.
  virtual size_t added_count(bool /*pair*/) const { return 0; }
  // `parts` are the texts and special tokens so far, in order; at first one text, or two. Their windows get
  // what they get.
  virtual void process(std::vector<Encoding>& parts, bool add_special_tokens) const = 0;
};

// The `post_processor` of a tokenizer.json. Throws Error (exit code 4) for a type that is not known.
std::shared_ptr<const PostProcessor> read_post_processor(const JsonPart& part);

}  // namespace hftrain::tokenizer
