#include "hftrain/tasks/scorer.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hftrain::tasks {

int64_t RowValues::row_size() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

const RowValues* OutputBatch::label(std::string_view name) const {
  const auto found =
      std::find_if(labels.begin(), labels.end(), [&](const RowValues& one) { return one.name == name; });
  return found == labels.end() ? nullptr : &*found;
}

}  // namespace hftrain::tasks
