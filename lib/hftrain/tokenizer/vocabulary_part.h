// Reads the `vocab` of a model in a tokenizer.json.
#pragma once

#include <vector>

#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {

// An object of tokens and ids. Throws Error (exit code 4) for an id that is none.
Vocabulary read_vocabulary(const JsonPart& part);

struct ScoredVocabulary {
  Vocabulary vocabulary;
  std::vector<double> scores;  // by id
};
// A list of [token, score]; the place in the list is the id. Throws Error (exit code 4) for anything else.
ScoredVocabulary read_scored_vocabulary(const JsonPart& part);

}  // namespace hftrain::tokenizer
