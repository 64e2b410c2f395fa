// Which samples share a sequence, as TRL's pack_dataset has it. Pure arithmetic on lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::data {

enum class PackingStrategy {
  kBestFit,  // bfd: whole samples, the longest first, each into the fullest sequence that has room for it; samples
             // longer than a sequence are cut
  kBestFitSplit,  // bfd_split: the same, but longer samples are divided and none of their tokens is lost
  kWrapped,       // wrapped: one stream of tokens, cut wherever a sequence is full
};

// A part of a sample in a sequence.
struct PackedPiece {
  int64_t sample = 0, begin = 0, length = 0;  // tokens
  bool operator==(const PackedPiece&) const = default;
};
using PackedSequence = std::vector<PackedPiece>;

// Sequences of at most `longest` tokens, of samples with these lengths. Empty samples are left out. Best-fit decreasing
// is the offline algorithm of Ding et al. 2024 (arXiv 2404.10830); of samples of one length the first comes first, and of
// sequences with equal room the one that has had it longest is taken.
std::vector<PackedSequence> packed_sequences(std::span<const int32_t> lengths, int64_t longest,
                                             PackingStrategy strategy);

}  // namespace hftrain::data
