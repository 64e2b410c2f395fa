// Writing protocol buffers by hand: the four wire types that trackers' files need, so that no library of all of
// them is linked. Wire format: protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hftrain::reporting {

// One message; `field` is the number in the .proto file. Fields are encoded as they come.
class ProtobufMessage {
 public:
  ProtobufMessage& varint(int field, uint64_t value) {
    key(field, 0);
    raw_varint(value);
    return *this;
  }
  ProtobufMessage& float64(int field, double value) {
    key(field, 1);
    return fixed(value);
  }
  ProtobufMessage& float32(int field, float value) {
    key(field, 5);
    return fixed(value);
  }
  ProtobufMessage& bytes(int field, std::string_view value) {
    key(field, 2);
    raw_varint(value.size());
    bytes_ += value;
    return *this;
  }
  // Zeros and empty texts are left out, as every writer of proto3 does.
  ProtobufMessage& count(int field, uint64_t value) { return value == 0 ? *this : varint(field, value); }
  ProtobufMessage& text(int field, std::string_view value) {
    return value.empty() ? *this : bytes(field, value);
  }
  ProtobufMessage& message(int field, const ProtobufMessage& value) { return bytes(field, value.bytes_); }
  const std::string& encoded() const { return bytes_; }

 private:
  void key(int field, int wire_type) {
    raw_varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type));
  }
  void raw_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  template <typename T>
  ProtobufMessage& fixed(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
    return *this;
  }

  std::string bytes_;
};

// The low `width` bytes of a number, the lowest first.
inline std::string little_endian(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

}  // namespace hftrain::reporting
