// Judges the texts that a model writes and puts them into generated_predictions.txt, as run_summarization and
// run_translation do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hftrain/tasks/scorer.h"

namespace hftrain::tasks {

struct TextJudgement {
  bool translates = false;        // BLEU; else ROUGE
  std::optional<int64_t> pad_id;  // of the tokenizer; it does not count as a token of a text
  int64_t seed = 0;               // of ROUGE's medians
  int64_t longest = 0;            // tokens of a text, about
};

// Of predictions and labels alike: special tokens are left out, white space around them is. gen_len is the mean number
// of ids that are not padding, what the decoder begins with among them.
Scoring text_scoring(const TextJudgement& judgement);
std::unique_ptr<Scorer> text_scorer(const ScorerInput& input);

}  // namespace hftrain::tasks
