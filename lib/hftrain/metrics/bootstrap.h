// Means with the noise of rouge-score's aggregation: what `evaluate` reports as ROUGE is not the mean over
// examples but the median of 1000 means of resamples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::metrics {

// For each column the median of 1000 means of as many values drawn from it, with numpy's generator and
// numpy's way of drawing after numpy.random.seed(seed); the columns one after another. `evaluate` seeds with
// numpy's state, which is the training seed as long as nothing has drawn from it. NaN for an empty column.
// Time: 1000 draws a value.
std::vector<double> bootstrap_medians(std::span<const std::vector<double>> columns, uint32_t seed);

}  // namespace hftrain::metrics
