#include "hftrain/storage/float_numbers.h"

#include <algorithm>
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

bool is_compared_as_numbers(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

std::vector<float> rounded_to_float32(DType dtype, std::span<const char> bytes) {
  if (dtype != DType::kF64) return to_floats(dtype, bytes, "");
  std::vector<float> numbers(bytes.size() / sizeof(double));
  for (size_t i = 0; i < numbers.size(); ++i) {
    double number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    numbers[i] = static_cast<float>(number);
  }
  return numbers;
}

// As LibTorch, by way of float32.
std::vector<float> rounded_to(DType as, DType dtype, std::span<const char> bytes) {
  std::vector<float> numbers = rounded_to_float32(dtype, bytes);
  if (as == DType::kF32 || as == dtype) return numbers;
  std::vector<char> narrow(numbers.size() * static_cast<size_t>(dtype_bits(as)) / 8);
  from_floats(as, numbers, narrow, "");
  return to_floats(as, narrow, "");
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

bool same_numbers(DType one, std::span<const char> bytes, DType other, std::span<const char> other_bytes,
                  DType as) {
  if (one == other && std::ranges::equal(bytes, other_bytes)) return true;
  if (!is_compared_as_numbers(one) || !is_compared_as_numbers(other)) return false;
  constexpr size_t kNumbers = size_t{1} << 20;  // converted at once
  const size_t width = static_cast<size_t>(dtype_bits(one)) / 8;
  const size_t other_width = static_cast<size_t>(dtype_bits(other)) / 8;
  const size_t numbers = bytes.size() / width;
  if (other_bytes.size() / other_width != numbers) return false;
  for (size_t first = 0; first < numbers; first += kNumbers) {
    const size_t count = std::min(kNumbers, numbers - first);
    if (rounded_to(as, one, bytes.subspan(first * width, count * width)) !=
        rounded_to(as, other, other_bytes.subspan(first * other_width, count * other_width)))
      return false;
  }
  return true;
}

}  // namespace hftrain::storage
