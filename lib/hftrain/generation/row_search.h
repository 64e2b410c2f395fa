// Greedy search and sampling: each row is written by itself.
#pragma once

#include "hftrain/generation/generate.h"

namespace hftrain::generation {

std::vector<std::vector<GeneratedText>> search_rows(TokenModel& model, std::span<const Prompt> prompts,
                                                    const GenerationConfig& config, uint64_t seed,
                                                    const Watchers& watchers);

}  // namespace hftrain::generation
