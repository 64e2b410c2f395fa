// In which order the samples of an epoch are taken, before they are cut into batches: pure functions of the seed
// and, for the samplers that look at them, of the samples' lengths.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hftrain::data {

enum class Sampling {
  kSequential,
  kRandom,
  kGroupByLength,   // random, but samples of a batch have about one length
  kBatchRebalance,  // random updates, cut into micro-batches of about one cost (batch_rebalance.h)
  kSortish,         // as fastai and the sequence-to-sequence examples of transformers 4.0 had it
  kLongestFirst,    // the same without chance
};

// The words of plans: sequential, random, group_by_length, batch_rebalance, sortish, longest_first. Another one is an
// Error (exit code 1).
Sampling sampling_named(std::string_view name);

// Lengths of all samples, in tokens; null where none are needed.
using SampleLengths = std::shared_ptr<const std::vector<int32_t>>;

// torch.randperm(n) of a CPU generator seeded with `seed` (of which that generator uses the low 32 bits); with
// `before` the one that follows so many others of that generator.
std::vector<int64_t> random_permutation(int64_t n, uint64_t seed, int64_t before = 0);

// transformers 5.17, trainer_pt_utils.get_length_grouped_indices, with a generator of that seed: a permutation (as
// random_permutation() has it) cut into pieces of min(n / (4 * group), 50) groups, each sorted from long to short, and
// the longest sample of all first. `group`: samples, of one rank and one update in training. `before`: permutations
// of the generator that were others'.
std::vector<int64_t> length_grouped_order(const std::vector<int32_t>& lengths, int64_t group, uint64_t seed,
                                          int64_t before = 0);

// The sortish sampler: pieces of 50 groups of a permutation, each sorted from long to short; of the groups that these
// make the one that begins with the longest sample comes first and the others in random order. Both permutations are
// torch's, of one generator of that seed (the examples took NumPy's global one, which no seed of a run fixes).
std::vector<int64_t> sortish_order(const std::vector<int32_t>& lengths, int64_t group, uint64_t seed);

// From long to short; of equals the first comes first.
std::vector<int64_t> longest_first_order(const std::vector<int32_t>& lengths);

}  // namespace hftrain::data
