#include "hftrain/metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hftrain::metrics {

void PairMoments::add(double x, double y) {
  count += 1;
  const double from_x = x - mean_x, from_y = y - mean_y;
  mean_x += from_x / count;
  mean_y += from_y / count;
  square_x += from_x * (x - mean_x);
  square_y += from_y * (y - mean_y);
  product += from_x * (y - mean_y);
  squared_error += (x - y) * (x - y);
}

void PairMoments::merge(const PairMoments& other) {
  if (other.count == 0) return;
  const double all = count + other.count;
  const double apart_x = other.mean_x - mean_x, apart_y = other.mean_y - mean_y;
  const double weight = count * other.count / all;
  square_x += other.square_x + apart_x * apart_x * weight;
  square_y += other.square_y + apart_y * apart_y * weight;
  product += other.product + apart_x * apart_y * weight;
  mean_x += apart_x * other.count / all;
  mean_y += apart_y * other.count / all;
  squared_error += other.squared_error;
  count = all;
}

double PairMoments::pearson() const {
  if (count < 2 || square_x == 0 || square_y == 0) return std::numeric_limits<double>::quiet_NaN();
  const double r = product / (std::sqrt(square_x) * std::sqrt(square_y));
  return std::isnan(r) ? r : std::clamp(r, -1.0, 1.0);
}

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;  // the mean of begin + 1 .. end
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

double spearman(std::span<const double> x, std::span<const double> y) {
  const auto has_nan = [](std::span<const double> values) {
    return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  };
  if (has_nan(x) || has_nan(y)) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x_ranks = average_ranks(x), y_ranks = average_ranks(y);
  PairMoments moments;
  for (size_t i = 0; i < x_ranks.size(); ++i) moments.add(x_ranks[i], y_ranks[i]);
  return moments.pearson();
}

double perplexity(double loss) {
  return std::exp(loss);  // overflows to infinity, where Python raises and the scripts say inf
}

}  // namespace hftrain::metrics
