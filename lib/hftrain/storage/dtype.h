// The element types a safetensors file can hold, with their names there.
#pragma once

#include <optional>
#include <string_view>

namespace hftrain::storage {

// In the order in which the format ranks them: a file holds its tensors by descending rank, then by name, so
// that wide types come first and everything stays aligned.
enum class DType {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

int dtype_bits(DType dtype);
const char* dtype_name(DType dtype);  // "F32"
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace hftrain::storage
