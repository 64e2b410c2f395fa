#include "hftrain/generation/generation_config.h"

#include <algorithm>

namespace hftrain::generation {

int64_t GenerationConfig::most_new_tokens(int64_t prompt) const {
  constexpr int64_t kUnasked = 20;
  if (max_new_tokens) return *max_new_tokens;
  if (max_length) return *max_length - prompt;
  return positions > 0 ? std::min(kUnasked, positions - prompt) : kUnasked;
}

int64_t GenerationConfig::least_new_tokens(int64_t prompt) const {
  return min_new_tokens ? *min_new_tokens : min_length - prompt;
}

int64_t GenerationConfig::filler() const {
  if (pad_token_id) return *pad_token_id;
  return eos_token_id.empty() ? 0 : eos_token_id.front();
}

}  // namespace hftrain::generation
