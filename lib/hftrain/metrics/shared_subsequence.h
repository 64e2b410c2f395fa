// Longest common subsequences of words. Time is the product of the two lengths; memory is linear in them
// (with a factor log2 of the reference's length where positions are asked for).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hftrain::metrics {

size_t shared_subsequence_length(std::span<const int> a, std::span<const int> b);

// Sets in_shared[i] for the words of `reference` that belong to the longest common subsequence which
// rouge-score reads out: walking back from the ends, it leaves the candidate's word only where that alone
// keeps the length. in_shared has the size of `reference`; what is set stays set, so that calls make a union.
void mark_shared_subsequence(std::span<const int> reference, std::span<const int> candidate,
                             std::vector<bool>& in_shared);

}  // namespace hftrain::metrics
