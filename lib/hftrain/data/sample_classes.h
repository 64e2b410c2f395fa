// Seeded example rows of texts, and of pairs of texts, with a class, whose best possible loss is known.
//
// A text judges one thing, or two with "but" between them; the last judgement says whether its class is good, fair or
// bad. The texts of a pair tell of the same thing, in the same colour or in another one. In one row of ten chance has
// put another class in the place of the right one, each with equal chances.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::data {

// JSON lines {"sentence", "label"}, or {"sentence1", "sentence2", "label"}, of at most `bytes` bytes in all (at least
// one line). The same seed gives the same bytes on every machine.
std::string sample_classes(uint64_t seed, int64_t bytes);
std::string sample_pairs(uint64_t seed, int64_t bytes);

// Of what is expected of rows drawn for ever.
struct ClassFloor {
  double nats_per_row = 0;
  double accuracy = 0;  // of the best guesses
};
ClassFloor sample_classes_floor();
ClassFloor sample_pairs_floor();

}  // namespace hftrain::data
