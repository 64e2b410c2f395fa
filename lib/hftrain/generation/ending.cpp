#include "hftrain/generation/ending.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/generation/probabilities.h"

namespace hftrain::generation {

bool Ending::reached(std::span<const int64_t> ids, size_t prompt) const {
  const auto generated = ids.subspan(prompt);
  if (std::ranges::find(config_.eos_token_id, ids.back()) != config_.eos_token_id.end()) return true;
  if (static_cast<int64_t>(generated.size()) >= config_.most_new_tokens(static_cast<int64_t>(prompt)))
    return true;
  return watchers_.complete && watchers_.complete(generated);
}

void refuse_invalid(std::span<const float> scores) {
  if (are_numbers(scores)) return;
  throw Error(ExitCode::kData, "the model's scores are not numbers")
      .where("generating the next token")
      .why("NaN comes from weights or activations that are not finite")
      .hint("check the weights, generate in float32, or set remove_invalid_values");
}

}  // namespace hftrain::generation
