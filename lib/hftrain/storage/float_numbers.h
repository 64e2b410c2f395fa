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

// Whether the two hold the same numbers once they are in the type `as` (F32, BF16 or F16), whatever their own; as torch.equal has it,
// 0 is -0. Of types that are none of F64, F32, BF16 and F16 the bytes are compared.
bool same_numbers(DType one, std::span<const char> bytes, DType other, std::span<const char> other_bytes,
                  DType as = DType::kF32);

}  // namespace hftrain::storage
