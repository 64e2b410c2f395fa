// How large a tensor is whose sizes a file claims.
#pragma once

#include <cstdint>
#include <optional>

#include "hftrain/storage/safetensors_file.h"

namespace hftrain::storage {

// The bits of a tensor whose sizes, none below 0, come from a file; nothing when they, or those of any part
// of its dims, pass 63 bits. Whatever was found to fit here can be counted and addressed without a further
// check.
std::optional<uint64_t> checked_bits(const TensorEntry& entry);

}  // namespace hftrain::storage
