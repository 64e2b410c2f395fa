// Rows of words with tags to tokens with labels, as run_ner aligns them.
#pragma once

#include <memory>

#include "hftrain/data/encoder.h"
#include "hftrain/tasks/tag_set.h"

namespace hftrain::tasks {

// Of data to be predicted, for every token 1 where it stands for a word in predictions, else 0.
inline constexpr const char* kWordStarts = "word_starts";

struct TagEncoding {
  size_t words = 0, tags = 1;  // columns of the records
  int64_t max_length = 0;      // tokens, with the special ones; what is longer is cut
  bool label_all_tokens = false;
  bool predicts = false;  // there is the column kWordStarts, and rows may lack their tags
};

// Columns input_ids, token_type_ids and labels: the number of a word's tag at its first token; at its further
// ones TagSet::continued with label_all_tokens, else -100; -100 at special tokens, and everywhere in a row whose
// tags are not known. A row without words, or with another number of tags than of words, is an Error (exit code
// 4).
std::unique_ptr<data::Encoder> tag_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, TagSet tags,
                                           const TagEncoding& encoding);

}  // namespace hftrain::tasks
