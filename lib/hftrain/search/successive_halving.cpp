#include "hftrain/search/successive_halving.h"

#include <cmath>
#include <limits>

namespace hftrain::search {
namespace {

constexpr size_t kReduction = 3;

bool is_behind_at(size_t rung, const std::vector<std::vector<double>>& metrics, size_t own,
                  bool greater_is_better) {
  const auto badness = [&](double metric) {
    if (std::isnan(metric)) return std::numeric_limits<double>::infinity();
    return greater_is_better ? -metric : metric;
  };
  const double mine = badness(metrics[own][rung - 1]);
  size_t there = 0, better = 0;
  for (const std::vector<double>& others : metrics) {
    if (others.size() < rung) continue;
    ++there;
    if (badness(others[rung - 1]) < mine) ++better;
  }
  return there >= kReduction && better >= there / kReduction;
}

}  // namespace

bool is_behind(const std::vector<std::vector<double>>& metrics, size_t own, size_t judged,
               bool greater_is_better) {
  for (size_t rung = 1; rung <= metrics[own].size(); rung *= kReduction) {
    if (rung > judged && is_behind_at(rung, metrics, own, greater_is_better)) return true;
  }
  return false;
}

size_t judged_before(size_t evaluations) {
  if (evaluations == 0) return 0;
  size_t newest = 1;
  while (newest <= evaluations / kReduction) newest *= kReduction;
  return newest - 1;
}

}  // namespace hftrain::search
