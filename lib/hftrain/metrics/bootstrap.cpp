#include "hftrain/metrics/bootstrap.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

namespace hftrain::metrics {
namespace {

constexpr size_t kResamples = 1000;

// One of `count` positions: bits of a draw, drawn again until they are in range (numpy's masked rejection).
size_t draw_position(std::mt19937& generator, size_t count) {
  if (count == 1) return 0;
  const uint64_t mask = std::bit_ceil(uint64_t{count}) - 1;
  size_t position = count;
  while (position >= count) position = generator() & mask;
  return position;
}

double median_of_means(const std::vector<double>& values, std::mt19937& generator) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> means(kResamples);
  for (double& mean : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[draw_position(generator, values.size())];
    mean = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  return (means[kResamples / 2 - 1] + means[kResamples / 2]) / 2;
}

}  // namespace

std::vector<double> bootstrap_medians(std::span<const std::vector<double>> columns, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<double> medians;
  for (const std::vector<double>& column : columns) medians.push_back(median_of_means(column, generator));
  return medians;
}

}  // namespace hftrain::metrics
