// How text is generated: the settings of generation_config.json, under transformers' names and with its defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/exit_code.h"
#include "hftrain/base/json.h"

namespace hftrain::generation {

using Ids = std::vector<int64_t>;

// When beam search leaves a prompt: when the running beams can hardly become better than the finished ones, as soon
// as there are enough finished ones, or only when they cannot become better at all.
enum class EarlyStopping { kHeuristic, kWhenFull, kNever };

// From `start` generated tokens on, the end of the text becomes likelier by factor^tokens.
struct LengthDecay {
  int64_t start = 0;
  double factor = 1;
};

struct GenerationConfig {
  // Lengths in tokens. max_length and min_length count the prompt (of an encoder-decoder model what its decoder begins
  // with); max_new_tokens and min_new_tokens do not, and go before them. Without either 20 tokens are generated, as far
  // as `positions` reach.
  std::optional<int64_t> max_length;
  std::optional<int64_t> max_new_tokens;
  int64_t min_length = 0;
  std::optional<int64_t> min_new_tokens;
  std::vector<std::string> stop_strings;

  bool do_sample = false;
  int64_t num_beams = 1;
  int64_t num_return_sequences = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;

  // Of sampling alone.
  double temperature = 1;
  int64_t top_k = 50;  // 0: off
  double top_p = 1;
  std::optional<double> min_p;
  double typical_p = 1;
  double epsilon_cutoff = 0;
  double eta_cutoff = 0;

  double repetition_penalty = 1;
  double encoder_repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;
  int64_t encoder_no_repeat_ngram_size = 0;
  std::vector<Ids> bad_words_ids;
  std::vector<std::pair<Ids, double>> sequence_bias;
  std::optional<int64_t> forced_bos_token_id;
  Ids forced_eos_token_id;
  Ids suppress_tokens;
  Ids begin_suppress_tokens;
  std::optional<LengthDecay> exponential_decay_length_penalty;
  bool remove_invalid_values = false;
  bool renormalize_logits = false;

  // Most tokens of a draft that is copied from what the text said before (drafts.h). 0 or unset: none are made.
  std::optional<int64_t> prompt_lookup_num_tokens;
  // Of the last tokens the most that are looked for there. 0: as many as drafts.h has.
  int64_t max_matching_ngram_size = 0;

  std::optional<int64_t> bos_token_id, pad_token_id, decoder_start_token_id;
  Ids eos_token_id;  // text ends at any of them; none: only at its length

  int64_t positions = 0;  // of the model, no setting; 0: no limit

  // How many tokens may follow a prompt of that many, and how many must; the first is 0 or less for a prompt that is too
  // long.
  int64_t most_new_tokens(int64_t prompt) const;
  int64_t least_new_tokens(int64_t prompt) const;
  // What finished rows are filled up with: the padding token, else the first end token, else 0.
  int64_t filler() const;
};

// Takes what `json` (the text of a generation_config.json, or flags in its form) says into `config`; null means the
// default. Ids must lie below `vocabulary`. All mistakes at once as an Error (`code`) at `origin`: values out of
// range, and what asks for a way of decoding that is not there (contrastive search, groups of beams, an assistant).
// Keys that say nothing of the text (use_cache, output_scores) and a model's own are passed over (unknown_settings names those).
void take_json(GenerationConfig& config, const Json& json, int64_t vocabulary, const std::string& origin,
               ExitCode code = ExitCode::kData);

}  // namespace hftrain::generation
