// Softmax of one row of scores, as the chosen token's probability needs it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::generation {

// scores − log Σ exp(scores), in place. The largest must be finite.
void log_softmax(std::span<float> scores);

// exp(score) / Σ exp(scores), [vocabulary]; −∞ gives 0. Summed in double.
std::vector<float> softmax(std::span<const float> scores);

// Positions of the `count` largest, best first; of equal ones the earlier. `count` at most the size.
std::vector<int64_t> largest(std::span<const float> scores, size_t count);

}  // namespace hftrain::generation
