#include "hftrain/search/successive_halving.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace hftrain::search {
namespace {

constexpr size_t kReduction = 3;

bool is_rung(size_t evaluations) {
  while (evaluations > 1 && evaluations % kReduction == 0) evaluations /= kReduction;
  return evaluations == 1;
}

}  // namespace

bool is_behind(const std::vector<std::vector<double>>& metrics, size_t own, bool greater_is_better) {
  const size_t evaluations = metrics[own].size();
  if (!is_rung(evaluations)) return false;
  const auto badness = [&](double metric) {
    if (std::isnan(metric)) return std::numeric_limits<double>::infinity();
    return greater_is_better ? -metric : metric;
  };
  const double mine = badness(metrics[own].back());
  size_t there = 0, better = 0;
  for (const std::vector<double>& others : metrics) {
    if (others.size() < evaluations) continue;
    ++there;
    if (badness(others[evaluations - 1]) < mine) ++better;
  }
  return there >= kReduction && better >= there / kReduction;
}

}  // namespace hftrain::search
