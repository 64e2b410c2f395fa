#include "hftrain/report/thinning.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace hftrain::report {
namespace {

// Places of the points of one range, [begin, end), that stay.
std::set<size_t> kept_of(const Series& series, size_t begin, size_t end) {
  std::set<size_t> kept = {begin, end - 1};
  size_t lowest = end, highest = end;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(series[i].value)) continue;
    if (lowest == end || series[i].value < series[lowest].value) lowest = i;
    if (highest == end || series[i].value > series[highest].value) highest = i;
  }
  if (lowest != end) kept.insert({lowest, highest});
  return kept;
}

}  // namespace

Series thinned(const Series& series, size_t columns) {
  if (series.size() <= 4 * columns) return series;
  const double first = series.front().step, width = series.back().step - first;
  Series kept;
  for (size_t begin = 0, column = 0; begin < series.size(); ++column) {
    const double limit = first + width * static_cast<double>(column + 1) / static_cast<double>(columns);
    size_t end = begin;
    while (end < series.size() && (series[end].step < limit || column + 1 >= columns)) ++end;
    if (end == begin) continue;
    for (const size_t place : kept_of(series, begin, end)) kept.push_back(series[place]);
    begin = end;
  }
  return kept;
}

}  // namespace hftrain::report
