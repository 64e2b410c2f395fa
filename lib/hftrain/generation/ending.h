// When a text is complete.
#pragma once

#include "hftrain/generation/generate.h"

namespace hftrain::generation {

class Ending {
 public:
  Ending(const GenerationConfig& config, const Watchers& watchers) : config_(config), watchers_(watchers) {}
  // Of a row with its prompt of that many tokens and at least one more: by an end token, its length, or the watcher.
  bool reached(std::span<const int64_t> ids, size_t prompt) const;

 private:
  const GenerationConfig& config_;
  const Watchers& watchers_;
};

// NaN among the scores of a row is an Error (exit code 4): no token could be chosen in earnest.
void refuse_invalid(std::span<const float> scores);

}  // namespace hftrain::generation
