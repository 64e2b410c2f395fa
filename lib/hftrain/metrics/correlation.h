// Metrics over pairs of numbers: Pearson's and Spearman's correlation, the mean squared error.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::metrics {

// Count, means and centred second moments of pairs (x, y): enough for Pearson's correlation and the mean
// squared error, and merged without the loss of digits that sums of squares have (Chan, Golub and LeVeque
// 1979). Six numbers, whatever the number of pairs.
struct PairMoments {
  double count = 0;
  double mean_x = 0, mean_y = 0;
  double square_x = 0, square_y = 0;  // sums of squared distances from the means
  double product = 0;                 // sum of products of distances
  double squared_error = 0;           // sum of (x - y)^2

  void add(double x, double y);
  void merge(const PairMoments& other);
  // In [-1, 1]. NaN for fewer than two pairs, where a side is constant, and where a value is not finite.
  double pearson() const;
  double mean_squared_error() const { return squared_error / count; }  // NaN of nothing
};

// 1 for the smallest; equal values share the mean of their ranks.
std::vector<double> average_ranks(std::span<const double> values);

// Pearson's correlation of the ranks. NaN for fewer than two pairs, where a side is constant, and where a
// value is NaN, as scipy has it. Needs all pairs at once.
double spearman(std::span<const double> x, std::span<const double> y);

// exp(loss), infinite where that is beyond a double, as the example scripts have it.
double perplexity(double loss);

}  // namespace hftrain::metrics
