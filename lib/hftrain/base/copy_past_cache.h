// memcpy past the caches: for results larger than they are, which would push everything else out, and whose
// lines would be read before they are overwritten.
#pragma once

#include <cstddef>

namespace hftrain {

// One thread's part of a copy; the parts of one copy may be made by several threads at once.
void copy_past_cache(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace hftrain
