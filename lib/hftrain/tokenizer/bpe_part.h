// Reads a BPE model of a tokenizer.json, with its merges.
#pragma once

#include <memory>

#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/model.h"

namespace hftrain::tokenizer {

// Throws Error (exit code 4) for dropout, and for merges that name unknown tokens.
std::shared_ptr<const Model> read_bpe(const JsonPart& part);

}  // namespace hftrain::tokenizer
