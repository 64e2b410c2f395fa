#include "hftrain/generation/generation_config.h"

namespace hftrain::generation {

int64_t GenerationConfig::most_new_tokens(int64_t prompt) const {
  return max_new_tokens ? *max_new_tokens : max_length - prompt;
}

int64_t GenerationConfig::least_new_tokens(int64_t prompt) const {
  return min_new_tokens ? *min_new_tokens : min_length - prompt;
}

int64_t GenerationConfig::filler() const {
  if (pad_token_id) return *pad_token_id;
  return eos_token_id.empty() ? 0 : eos_token_id.front();
}

}  // namespace hftrain::generation
