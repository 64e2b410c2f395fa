#include "hftrain/storage/float_numbers.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "hftrain/base/error.h"

namespace hftrain::storage {
namespace {

Error no_floats(DType dtype, const std::string& where) {
  return Error(ExitCode::kData,
               std::string("weights of type ") + dtype_name(dtype) + " cannot be computed with")
      .where(where)
      .why("F32, BF16 and F16 can")
      .hint("the model or the adapter saved in one of these types");
}

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t to_bfloat16(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  if (std::isnan(number)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_half(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

uint16_t to_half(float number) {
  const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const float size = std::fabs(number);
  if (std::isnan(number)) return 0x7e00;
  if (size >= 65520.0F) return static_cast<uint16_t>(sign | 0x7c00);
  // In units of the last place of the result: of numbers below 2^-14 that is 2^-24.
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const float scaled = std::ldexp(size, -unit), whole = std::nearbyint(scaled);
  const auto units = static_cast<uint16_t>(whole);
  // The carry of a rounded-up fraction goes into the exponent by itself.
  return static_cast<uint16_t>(sign | (units + static_cast<uint16_t>((unit + 24) << 10)));
}

}  // namespace

std::vector<float> to_floats(DType dtype, std::span<const char> bytes, const std::string& where) {
  if (dtype == DType::kF32) {
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  if (dtype != DType::kBF16 && dtype != DType::kF16) throw no_floats(dtype, where);
  std::vector<float> numbers(bytes.size() / sizeof(uint16_t));
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    numbers[i] = dtype == DType::kBF16 ? from_bfloat16(bits) : from_half(bits);
  }
  return numbers;
}

void from_floats(DType dtype, std::span<const float> numbers, std::span<char> bytes,
                 const std::string& where) {
  if (dtype == DType::kF32) {
    std::memcpy(bytes.data(), numbers.data(), numbers.size_bytes());
    return;
  }
  if (dtype != DType::kBF16 && dtype != DType::kF16) throw no_floats(dtype, where);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint16_t bits = dtype == DType::kBF16 ? to_bfloat16(numbers[i]) : to_half(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace hftrain::storage
