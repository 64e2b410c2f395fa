// The variables of this program, by its own table of symbols: __shared__ arrays are some of them.
#pragma once

#include <cstdint>
#include <optional>

namespace hftrain::grid {

struct Extent {
  uintptr_t begin = 0, end = 0;
};

// The variable that `address` lies in; null between two, which is where an index too large leads.
std::optional<Extent> variable_at(uintptr_t address);

}  // namespace hftrain::grid
