// What attention keeps of its weights where it drops out some: for the footprints of families.
#pragma once

#include <cstdint>

namespace hftrain::architectures {

// Numbers of each, in the form that has them: before, after, and the factor between.
inline constexpr int64_t kOfDroppedWeight = 3;

}  // namespace hftrain::architectures
