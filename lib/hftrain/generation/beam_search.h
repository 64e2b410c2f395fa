// Beam search, with and without sampling, as transformers 5 has it (_beam_search of generation/utils.py): candidates of all beams of a
// prompt compete by their summed log-probability; finished ones are kept by theirs over length^length_penalty.
#pragma once

#include "hftrain/generation/generate.h"

namespace hftrain::generation {

std::vector<std::vector<GeneratedText>> search_beams(TokenModel& model, std::span<const Prompt> prompts,
                                                     const GenerationConfig& config, uint64_t seed,
                                                     const Watchers& watchers);

}  // namespace hftrain::generation
