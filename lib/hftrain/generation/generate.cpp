#include "hftrain/generation/generate.h"

#include "hftrain/base/error.h"
#include "hftrain/generation/beam_search.h"
#include "hftrain/generation/row_search.h"

namespace hftrain::generation {
namespace {

void refuse_long_prompts(std::span<const Prompt> prompts, const GenerationConfig& config) {
  for (const Prompt& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.ids.size());
    if (config.most_new_tokens(length) > 0) continue;
    throw Error(ExitCode::kData, "a prompt leaves no room for a token")
        .where("prompt " + std::to_string(prompt.number + 1) + " of " + std::to_string(length) + " tokens")
        .why(config.max_length
                 ? "max_length is " + std::to_string(*config.max_length) + " and counts the prompt"
                 : "the model has " + std::to_string(config.positions) + " positions")
        .hint(config.max_length ? "a larger max_length, or max_new_tokens, which does not count it"
                                : "a shorter prompt, or max_new_tokens where the model may go beyond them");
  }
}

}  // namespace

std::vector<std::vector<GeneratedText>> generate(TokenModel& model, std::span<const Prompt> prompts,
                                                 const GenerationConfig& config, uint64_t seed,
                                                 const Watchers& watchers) {
  if (prompts.empty()) return {};
  refuse_long_prompts(prompts, config);
  return config.num_beams > 1 ? search_beams(model, prompts, config, seed, watchers)
                              : search_rows(model, prompts, config, seed, watchers);
}

}  // namespace hftrain::generation
