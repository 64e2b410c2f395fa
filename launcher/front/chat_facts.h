// What instruction data need of a tokenizer: its chat template and special tokens, as its folder or the flags have them.
#pragma once

#include "hftrain/arguments/parse.h"
#include "hftrain/base/environment.h"
#include "hftrain/plan/model_facts.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::front {

// Fills in `facts.chat`, the end of text and the padding of `facts.special_tokens` (--eos_token, --pad_token; without a
// padding token the end of text is it) and what of that the saved tokenizer must say. Nothing for a task that reads no
// chat template. Files that cannot be read, a folder whose tokens the tokenizer lacks: Error (exit code 4); a token that is
// not in the vocabulary: exit code 2.
void add_chat_facts(const arguments::ParseOutcome& parsed, const Environment& environment,
                    const tokenizer::Tokenizer& tokenizer, plan::ModelFacts& facts);

}  // namespace hftrain::front
