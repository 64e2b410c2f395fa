// The order in which the `datasets` package shuffles and splits: numpy's default_rng(seed).permutation(n).
#pragma once

#include <cstdint>
#include <vector>

namespace hftrain::data {

// The numbers 0 to count − 1, shuffled from the last place to the first by PCG64 (XSL-RR, 128 bits; O'Neill 2014) that
// numpy's SeedSequence has seeded.
std::vector<int64_t> numpy_permutation(uint64_t seed, int64_t count);

}  // namespace hftrain::data
