// The checksum of zip files (CRC-32 of IEEE 802.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace hftrain::interchange {

// Of `bytes` behind those that gave `before`; 0 for the first ones.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

}  // namespace hftrain::interchange
