// Writes a new tokenizer as a folder that transformers' AutoTokenizer opens: tokenizer.json and
// tokenizer_config.json.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/tokenizer/merge_learner.h"
#include "hftrain/tokenizer/substring_seeds.h"

namespace hftrain::tokenizer {

// The parts of a tokenizer.json around its model; null ones are absent.
struct PipelineDraft {
  Json normalizer, pre_tokenizer, post_processor, decoder;
};

// In the manner of GPT-2, BERT (lower case or not), T5, and plain words. Special tokens that stand around a
// text are those of the usual names among `special_tokens`.
PipelineDraft byte_level_draft();
PipelineDraft bert_draft(bool lowercase, const std::vector<std::string>& special_tokens);
PipelineDraft t5_draft(const std::vector<std::string>& special_tokens);
PipelineDraft plain_words_draft();

// The first of the usual names of an unknown token that is among `special_tokens`; empty when none is.
std::string unknown_among(const std::vector<std::string>& special_tokens);

// The `model` of a tokenizer.json as text, vocabularies by id.
std::string byte_level_model(const LearnedMerges& learned);
std::string word_piece_model(const std::vector<std::string>& tokens, const std::string& unknown_token);
std::string word_level_model(const std::vector<std::string>& tokens, const std::string& unknown_token);
std::string unigram_model(const std::vector<ScoredPiece>& pieces, size_t unknown_id);

// `special_tokens` have the first ids. `is_causal`: every text begins and ends with a token, the first special
// one where no better is among them.
void write_tokenizer(const PipelineDraft& pipeline, const std::string& model,
                     const std::vector<std::string>& special_tokens, bool is_causal,
                     const std::string& folder);

}  // namespace hftrain::tokenizer
