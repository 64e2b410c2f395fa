// Seeded example rows of words with tags, whose best possible loss is known.
//
// Sentences of four patterns, drawn one after another with equal chances. All tags follow from the words around
// them (the same word is a person here and a city there), but for one: in one pattern chance says whether a word
// is a person, three times in four, or an organisation. What no model can undercut is the entropy of that.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::data {

// JSON lines {"tokens": […], "ner_tags": […]} of at most `bytes` bytes in all (at least one line). The same seed
// gives the same bytes on every machine.
std::string sample_tags(uint64_t seed, int64_t bytes);

// Of what is expected of rows drawn for ever.
struct TagFloor {
  double nats_per_word = 0;
  double accuracy = 0;  // of the best guesses
};
TagFloor sample_tags_floor();

}  // namespace hftrain::data
