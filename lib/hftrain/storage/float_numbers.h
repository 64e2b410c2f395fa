// Numbers of the floating types of a file, as float32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hftrain/storage/dtype.h"

namespace hftrain::storage {

// `bytes` hold whole numbers of F32, BF16 or F16. Error(kData) for another type; `where` names the tensor in it.
std::vector<float> to_floats(DType dtype, std::span<const char> bytes, const std::string& where);

// Rounded to the nearest, ties to even, as LibTorch does; `bytes` have room for all of them.
void from_floats(DType dtype, std::span<const float> numbers, std::span<char> bytes,
                 const std::string& where);

}  // namespace hftrain::storage
