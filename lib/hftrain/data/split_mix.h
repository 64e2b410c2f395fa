// SplitMix64: the whole state is a counter, and the constants are the published ones.
#pragma once

#include <cstdint>

namespace hftrain::data {

inline constexpr uint64_t kSplitMixIncrement = 0x9E3779B97F4A7C15ull;

// Its finalizer.
constexpr uint64_t split_mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

// `number` as one of 0 to below `bound`.
constexpr uint64_t scaled_below(uint64_t number, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(number) * bound >> 64);
}

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t below(uint64_t bound) { return scaled_below(split_mix(state_ += kSplitMixIncrement), bound); }

 private:
  uint64_t state_;
};

}  // namespace hftrain::data
