// Signatures and sizes of a zip file's records (PKWARE's APPNOTE 6.3), for its reader and its writer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hftrain::interchange {

inline constexpr uint32_t kHeaderSignature = 0x04034b50;    // in front of an entry's bytes
inline constexpr uint32_t kEntrySignature = 0x02014b50;     // of an entry in the directory
inline constexpr uint32_t kLargeEndSignature = 0x06064b50;  // zip64: where the directory is
inline constexpr uint32_t kLocatorSignature = 0x07064b50;   // zip64: where that record is
inline constexpr uint32_t kEndSignature = 0x06054b50;
inline constexpr uint32_t kChecksumSignature = 0x08074b50;
inline constexpr size_t kHeaderBytes = 30, kEntryBytes = 46, kLargeEndBytes = 56, kLocatorBytes = 20,
                        kEndBytes = 22;
inline constexpr uint16_t kLargeField = 1;          // extra field with numbers of 64 bits
inline constexpr uint64_t kSaturated = 0xffffffff;  // in their place
inline constexpr uint16_t kEncryptedFlag = 1;
inline constexpr uint16_t kChecksumFollowsFlag = 1 << 3;  // the bytes, in a record of their own
inline constexpr uint16_t kUnicodeFlag = 1 << 11;         // names are UTF-8

}  // namespace hftrain::interchange
