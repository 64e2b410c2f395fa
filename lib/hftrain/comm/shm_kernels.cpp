#include "hftrain/comm/shm_kernels.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#if defined(__x86_64__) && !defined(__clang__)  // clang, which checks the sources here, cannot flatten clones
// The loader picks the version that fits the CPU. Flattened, so that the loops below become part of each.
#define HFTRAIN_FOR_EACH_CPU \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define HFTRAIN_FOR_EACH_CPU
#endif

namespace hftrain::comm {
namespace {

using c10::ScalarType;

constexpr int64_t kBlock = 1024;  // elements; the accumulators of a block stay in the first cache

// Bits of bfloat16 as a type of its own: c10's conversions do not become vector code.
struct BFloat16Bits {
  uint16_t bits;
};

template <typename Element>
struct Accumulator {
  using Type = Element;
};
template <>
struct Accumulator<BFloat16Bits> {
  using Type = float;
};
template <>
struct Accumulator<c10::Half> {
  using Type = float;
};

template <typename Element>
inline typename Accumulator<Element>::Type widen(Element element) {
  if constexpr (std::is_same_v<Element, BFloat16Bits>) {
    return std::bit_cast<float>(static_cast<uint32_t>(element.bits) << 16);
  } else {
    return element;
  }
}

template <typename Element>
inline Element narrow(typename Accumulator<Element>::Type value) {
  if constexpr (std::is_same_v<Element, BFloat16Bits>) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t nearest_even = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return {static_cast<uint16_t>(value != value ? 0x7fc0 : nearest_even)};
  } else {
    return static_cast<Element>(value);
  }
}

template <Combine kCombine, typename Value>
inline Value combine(Value a, Value b) {
  if constexpr (kCombine == Combine::kSum) return static_cast<Value>(a + b);
  if constexpr (kCombine == Combine::kProduct) return static_cast<Value>(a * b);
  if constexpr (kCombine == Combine::kMinimum) return (a < b || a != a) ? a : b;
  if constexpr (kCombine == Combine::kMaximum) return (a > b || a != a) ? a : b;
}

template <typename Element, Combine kCombine>
inline void reduce_as(double scale, c10::ArrayRef<const std::byte*> sources, std::byte* out,
                      int64_t elements) {
  using Value = typename Accumulator<Element>::Type;
  const auto scaled = [factor = static_cast<Value>(scale)](Element element) {
    if constexpr (std::is_floating_point_v<Value>) return widen(element) * factor;
    return widen(element);
  };
  Value accumulator[kBlock];
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t size = std::min(kBlock, elements - begin);
    const auto source = [&](size_t rank) { return reinterpret_cast<const Element*>(sources[rank]) + begin; };
    const Element* first = source(0);
    for (int64_t i = 0; i < size; ++i) accumulator[i] = scaled(first[i]);
    for (size_t rank = 1; rank + 1 < sources.size(); ++rank) {
      const Element* next = source(rank);
      for (int64_t i = 0; i < size; ++i) accumulator[i] = combine<kCombine>(accumulator[i], scaled(next[i]));
    }
    const Element* last = source(sources.size() - 1);
    Element* target = reinterpret_cast<Element*>(out) + begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      target[i] = narrow<Element>(combine<kCombine>(accumulator[i], scaled(last[i])));
    }
  }
}

template <typename Element>
inline void reduce_with(Combine combine, double scale, c10::ArrayRef<const std::byte*> sources,
                        std::byte* out, int64_t elements) {
  switch (combine) {
    case Combine::kSum:
      return reduce_as<Element, Combine::kSum>(scale, sources, out, elements);
    case Combine::kProduct:
      return reduce_as<Element, Combine::kProduct>(scale, sources, out, elements);
    case Combine::kMinimum:
      return reduce_as<Element, Combine::kMinimum>(scale, sources, out, elements);
    case Combine::kMaximum:
      return reduce_as<Element, Combine::kMaximum>(scale, sources, out, elements);
  }
}

HFTRAIN_FOR_EACH_CPU
void reduce_any(ScalarType type, Combine combine, double scale, c10::ArrayRef<const std::byte*> sources,
                std::byte* out, int64_t elements) {
  switch (type) {
    case ScalarType::Float:
      return reduce_with<float>(combine, scale, sources, out, elements);
    case ScalarType::Double:
      return reduce_with<double>(combine, scale, sources, out, elements);
    case ScalarType::BFloat16:
      return reduce_with<BFloat16Bits>(combine, scale, sources, out, elements);
    case ScalarType::Half:
      return reduce_with<c10::Half>(combine, scale, sources, out, elements);
    case ScalarType::Byte:
      return reduce_with<uint8_t>(combine, scale, sources, out, elements);
    case ScalarType::Char:
      return reduce_with<int8_t>(combine, scale, sources, out, elements);
    case ScalarType::Short:
      return reduce_with<int16_t>(combine, scale, sources, out, elements);
    case ScalarType::Int:
      return reduce_with<int32_t>(combine, scale, sources, out, elements);
    case ScalarType::Long:
      return reduce_with<int64_t>(combine, scale, sources, out, elements);
    default:
      return;
  }
}

}  // namespace

bool can_reduce(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
    case ScalarType::Double:
    case ScalarType::BFloat16:
    case ScalarType::Half:
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
      return true;
    default:
      return false;
  }
}

void reduce_elements(const Reducible& how, c10::ArrayRef<const std::byte*> sources, std::byte* out,
                     int64_t elements) {
  if (how.type != ScalarType::Bool) {
    return reduce_any(how.type, how.combine, how.scale, sources, out, elements);
  }
  const bool either = how.combine == Combine::kSum || how.combine == Combine::kMaximum;
  reduce_any(ScalarType::Byte, either ? Combine::kMaximum : Combine::kMinimum, 1.0, sources, out, elements);
}

}  // namespace hftrain::comm
