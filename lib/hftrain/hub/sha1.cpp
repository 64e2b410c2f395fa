#include "hftrain/hub/sha1.h"

#include <bit>

namespace hftrain::hub {

void Sha1::update(std::string_view bytes) {
  total_ += bytes.size();
  for (const char c : bytes) {
    block_[filled_++] = static_cast<uint8_t>(c);
    if (filled_ == block_.size()) compress();
  }
}

std::array<uint8_t, 20> Sha1::digest() {
  const uint64_t bits = total_ * 8;
  update(std::string_view("\x80", 1));
  while (filled_ != 56) update(std::string_view("\0", 1));
  for (int shift = 56; shift >= 0; shift -= 8) {
    const char byte = static_cast<char>(bits >> shift);
    update({&byte, 1});
  }
  std::array<uint8_t, 20> out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

void Sha1::compress() {
  std::array<uint32_t, 80> w{};
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t{block_[4 * i]} << 24 | uint32_t{block_[4 * i + 1]} << 16 |
           uint32_t{block_[4 * i + 2]} << 8 | uint32_t{block_[4 * i + 3]};
  for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state_;
  for (size_t i = 0; i < 80; ++i) {
    const uint32_t f = i < 20   ? (b & c) | (~b & d)
                       : i < 40 ? b ^ c ^ d
                       : i < 60 ? (b & c) | (b & d) | (c & d)
                                : b ^ c ^ d;
    constexpr std::array<uint32_t, 4> kRound = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    const uint32_t next = std::rotl(a, 5) + f + e + kRound[i / 20] + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<uint32_t, 5> added = {a, b, c, d, e};
  for (size_t i = 0; i < 5; ++i) state_[i] += added[i];
  filled_ = 0;
}

}  // namespace hftrain::hub
