// Seeded example text whose best possible loss is known.
//
// Sentences are drawn one after another, each independently: first a pattern, then a word for each of its
// places, all with equal chances. Words repeat and sums are right, so part of every sentence can be foreseen.
// No two ways of drawing give the same sentence, so the entropy of the text is the entropy of the draws: what
// no model can undercut.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::data {

// Lines of at most `bytes` bytes in all (at least one line). The same seed gives the same bytes on every
// machine.
std::string sample_text(uint64_t seed, int64_t bytes);

struct TextFloor {
  double nats_per_line = 0;
  double characters_per_line = 0;  // mean, with the newline; all characters are single bytes
  // Mean loss that a model of this text cannot undercut, per character; times the mean characters per token
  // it is the floor of the training loss.
  double nats_per_character() const { return nats_per_line / characters_per_line; }
};
TextFloor sample_text_floor();

}  // namespace hftrain::data
