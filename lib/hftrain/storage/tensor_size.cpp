#include "hftrain/storage/tensor_size.h"

#include <algorithm>
#include <limits>

#include "hftrain/base/checked_arithmetic.h"

namespace hftrain::storage {

std::optional<uint64_t> checked_bits(const TensorEntry& entry) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  std::optional<uint64_t> bits = static_cast<uint64_t>(dtype_bits(entry.dtype));
  // An empty dim makes the whole empty, but not a part of it that is looked at alone.
  for (const int64_t size : entry.shape) {
    bits = checked_product(*bits, static_cast<uint64_t>(std::max<int64_t>(size, 1)));
    if (!bits || *bits > kMost) return std::nullopt;
  }
  return entry.elements() * static_cast<uint64_t>(dtype_bits(entry.dtype));
}

}  // namespace hftrain::storage
