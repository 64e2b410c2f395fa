// Writing text with a language model: greedy search, sampling, and beams with or without sampling. Token for token what
// transformers' generate gives for greedy search and beams; sampling draws by the same probabilities, from random
// numbers of its own (draws.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hftrain/generation/generation_config.h"
#include "hftrain/generation/token_model.h"

namespace hftrain::generation {

struct Prompt {
  Ids ids;              // without padding; of an encoder-decoder what its decoder begins with
  Ids encoder_ids;      // what its encoder reads; empty for a decoder
  uint64_t number = 0;  // the text's place in the data: with the seed, its random numbers

  // What the penalties of the encoder's tokens look at: of a decoder, as in transformers, its prompt.
  const Ids& source() const { return encoder_ids.empty() ? ids : encoder_ids; }
};

struct GeneratedText {
  Ids ids;           // without the prompt; with the end token, where it came to one
  double score = 0;  // of beams: the sum of log-probabilities / length^length_penalty
};

struct Watchers {
  // Whether a text is complete with these generated ids, beside ends and lengths (stop strings); may be empty.
  std::function<bool(std::span<const int64_t> generated)> complete;
  // Called for each token as it is chosen; searches with beams know their tokens only at the end. May be empty.
  std::function<void(size_t prompt, int64_t token)> token;
};

// For each prompt num_return_sequences texts, of beams the best first. `model` reads these prompts, in this order. A
// prompt that leaves no room for a token is an Error (exit code 4); so are scores that are not numbers, unless
// remove_invalid_values.
std::vector<std::vector<GeneratedText>> generate(TokenModel& model, std::span<const Prompt> prompts,
                                                 const GenerationConfig& config, uint64_t seed,
                                                 const Watchers& watchers = {});

}  // namespace hftrain::generation
