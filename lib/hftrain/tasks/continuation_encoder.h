// A text and what is to follow it, for models that write: of their tokens only those that follow have labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hftrain/data/encoder.h"

namespace hftrain::tasks {

struct Continuation {
  size_t text = 0, continuation = 1;  // columns of the records
  int64_t max_length = 0;             // tokens; what is longer is cut at the tokenizer's end for it
  bool predicts = false;              // rows may be texts alone
};

// Columns input_ids and labels: those of a text, with its special tokens but an end of text, then those that follow without any, then the
// tokenizer's end of text where it has one. A row without text is an Error (exit code 4), and so are rows none of which has a label left.
std::unique_ptr<data::Encoder> continuation_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                    const Continuation& encoding);

}  // namespace hftrain::tasks
