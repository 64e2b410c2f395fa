#include "hftrain/data/numpy_permutation.h"

#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

namespace hftrain::data {
namespace {

__extension__ using Wide = unsigned __int128;

// numpy.random.SeedSequence: a pool of four words that the seed's words are mixed into.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    const std::array<uint32_t, 4> entropy = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    uint32_t constant = 0x43b0d7e5;
    const auto hash = [&](uint32_t value) {
      value ^= constant;
      constant *= 0x931e8875;
      value *= constant;
      return value ^ value >> 16;
    };
    for (size_t i = 0; i < pool_.size(); ++i) pool_[i] = hash(entropy[i]);
    for (size_t source = 0; source < pool_.size(); ++source) {
      for (size_t target = 0; target < pool_.size(); ++target) {
        if (source != target) pool_[target] = mixed(pool_[target], hash(pool_[source]));
      }
    }
  }

  // Words of 64 bits, the lower half drawn first.
  std::array<uint64_t, 4> state() const {
    std::array<uint64_t, 4> words{};
    uint32_t constant = 0x8b51f9dd;
    for (size_t i = 0; i < 2 * words.size(); ++i) {
      uint32_t value = pool_[i % pool_.size()] ^ constant;
      constant *= 0x58f38ded;
      value *= constant;
      value ^= value >> 16;
      words[i / 2] |= uint64_t{value} << (i % 2 * 32);
    }
    return words;
  }

 private:
  static uint32_t mixed(uint32_t x, uint32_t y) {
    const uint32_t result = 0xca01f9dd * x - 0x4973f715 * y;
    return result ^ result >> 16;
  }

  std::array<uint32_t, 4> pool_{};
};

class Pcg64 {
 public:
  explicit Pcg64(uint64_t seed) {
    const std::array<uint64_t, 4> words = SeedSequence(seed).state();
    increment_ = wide(words[2], words[3]) << 1 | 1;
    step();
    state_ += wide(words[0], words[1]);
    step();
  }

  // 0 to `largest`: numbers of as many bits as that has, until one is not larger.
  uint64_t at_most(uint64_t largest) {
    const uint64_t mask = std::bit_ceil(largest + 1) - 1;
    uint64_t drawn = 0;
    do drawn = (largest >> 32 == 0 ? word() : next()) & mask;
    while (drawn > largest);
    return drawn;
  }

 private:
  static Wide wide(uint64_t high, uint64_t low) { return Wide{high} << 64 | low; }

  void step() { state_ = state_ * wide(0x2360ed051fc65da4, 0x4385df649fccf645) + increment_; }

  uint64_t next() {
    step();
    const auto folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const auto turn = static_cast<unsigned>(state_ >> 122);
    return folded >> turn | folded << (-turn & 63);
  }

  // Each number of 64 bits gives two, the lower half first.
  uint32_t word() {
    const bool had = std::exchange(has_half_, !has_half_);
    half_ = had ? half_ >> 32 : next();
    return static_cast<uint32_t>(half_);
  }

  Wide state_ = 0, increment_ = 0;
  uint64_t half_ = 0;
  bool has_half_ = false;
};

}  // namespace

std::vector<int64_t> numpy_permutation(uint64_t seed, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Pcg64 numbers(seed);
  for (size_t last = order.size(); last-- > 1;) std::swap(order[last], order[numbers.at_most(last)]);
  return order;
}

}  // namespace hftrain::data
