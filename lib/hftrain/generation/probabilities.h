// What choosing a token asks of a row of scores: all of them are looked at, so these loops are compiled to run over several at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::generation {

// Whether there is no NaN among them.
bool are_numbers(std::span<const float> scores);

// The largest of at least one, where NaN counts for nothing.
float largest_of(std::span<const float> scores);

// Its position; of equal ones the earliest, and 0 where all are NaN.
int64_t position_of_largest(std::span<const float> scores);

// scores − log Σ exp(scores), in place. The largest must be finite.
void log_softmax(std::span<float> scores);

// exp(score) / Σ exp(scores), [vocabulary]; −∞ gives 0. Summed in double.
std::vector<float> softmax(std::span<const float> scores);

// Positions of the `count` largest, best first; of equal ones the earlier. `count` at most the size.
std::vector<int64_t> largest(std::span<const float> scores, size_t count);

}  // namespace hftrain::generation
