// Rows of text to tokens and what each is to masking (data/masking.h).
#pragma once

#include <memory>
#include <optional>

#include "hftrain/data/encoder.h"

namespace hftrain::tasks {

struct MaskEncoding {
  std::optional<int64_t> max_length;  // tokens of a row, with the special ones; unset: rows are not cut
  bool skips_blank_rows = false;      // empty, or of white space alone
  bool whole_words = false;           // tokens without a gap in the text between them are one word
};

// Columns input_ids and mask_roles.
std::unique_ptr<data::Encoder> mask_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                            const MaskEncoding& encoding);

}  // namespace hftrain::tasks
