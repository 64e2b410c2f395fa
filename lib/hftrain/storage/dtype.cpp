#include "hftrain/storage/dtype.h"

#include <array>
#include <cstddef>

namespace hftrain::storage {
namespace {

struct Row {
  const char* name;
  int bits;
};

// By the enumerators' order.
constexpr std::array<Row, 22> kRows = {{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

}  // namespace

int dtype_bits(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].bits;
}

const char* dtype_name(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (name == kRows[i].name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace hftrain::storage
