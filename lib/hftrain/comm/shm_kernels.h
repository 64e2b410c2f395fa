// Element-wise reduction and large copies: the arithmetic of the shared-memory backend.
//
// Elements are combined in the order of the sources, in the accumulator of their dtype (float for bfloat16
// and half, which are rounded once at the end), without contraction into fused operations: the result depends
// on neither the CPU nor the place of an element in a message.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>

namespace hftrain::comm {

enum class Combine { kSum, kProduct, kMinimum, kMaximum };  // a NaN wins over every number

// Every integer and floating dtype that a model or its bookkeeping uses, and bool (sum: or, product: and).
bool can_reduce(c10::ScalarType type);

struct Reducible {
  c10::ScalarType type;
  Combine combine;
  double scale = 1.0;  // of every element before it is combined; floating types only
};

// out[i] = s[0][i] ∘ s[1][i] ∘ …; `out` may be one of the sources.
void reduce_elements(const Reducible& how, c10::ArrayRef<const std::byte*> sources, std::byte* out,
                     int64_t elements);

}  // namespace hftrain::comm
