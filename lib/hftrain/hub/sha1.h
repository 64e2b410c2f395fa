// SHA-1 (FIPS 180-4). libsodium has none, for it keeps no secret any more; git still names files by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hftrain::hub {

class Sha1 {
 public:
  void update(std::string_view bytes);
  // Called once, at the end.
  std::array<uint8_t, 20> digest();

 private:
  void compress();

  std::array<uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<uint8_t, 64> block_{};
  size_t filled_ = 0;
  uint64_t total_ = 0;  // bytes
};

}  // namespace hftrain::hub
