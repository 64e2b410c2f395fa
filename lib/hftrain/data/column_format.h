// The Megatron .bin/.idx layout (formats.md 7 of the reference), shared by reader and writer: of token ids,
// and of any other column.
//
// .bin: the numbers of all sequences one after another. .idx, little-endian and without padding: 9 bytes
// magic, u64 version, u8 type code, u64 sequences n, u64 documents d, n i32 lengths, n i64 byte offsets into
// .bin, d i64 document ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hftrain::data {

inline constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr uint64_t kIndexVersion = 1;
inline constexpr size_t kIndexHeaderBytes = 34;

enum class NumberType : uint8_t {
  kUint8 = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kFloat32 = 7,
  kUint16 = 8
};

}  // namespace hftrain::data
