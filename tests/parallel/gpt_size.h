#pragma once

#include <cstdint>

namespace hftrain::testing {

// GPT-2 124M.
inline constexpr int64_t kGptWidth = 768, kGptLayers = 12, kGptVocabulary = 50257;

}  // namespace hftrain::testing
