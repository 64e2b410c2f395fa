// Seeded example rows of texts and what is to be made of them, for summaries and for translations.
//
// A text is a few short sentences, of which one is marked; the summary is that one. The translation puts another
// word in the place of each word of a sentence, always the same one. Both follow from what is read: the best loss
// is 0.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::data {

// JSON lines {"text", "summary", "translation": {"plain", "cipher"}} of at most `bytes` bytes in all (at least one
// line). The same seed gives the same bytes on every machine.
std::string sample_sequences(uint64_t seed, int64_t bytes);

}  // namespace hftrain::data
