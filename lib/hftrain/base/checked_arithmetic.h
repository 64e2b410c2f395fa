// Sums and products of sizes that were read from a file: nothing where they do not fit. Whatever such a file
// claims goes through these before memory is reached by it.
#pragma once

#include <cstdint>
#include <optional>

namespace hftrain {

template <typename Integer>
std::optional<Integer> checked_sum(Integer a, Integer b) {
  Integer sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

template <typename Integer>
std::optional<Integer> checked_product(Integer a, Integer b) {
  Integer product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

}  // namespace hftrain
