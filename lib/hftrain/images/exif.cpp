#include "hftrain/images/exif.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace hftrain::images {
namespace {

constexpr uint64_t kOrientationTag = 0x0112, kEntryBytes = 12;

// Types of TIFF.
enum : uint64_t {
  kTypeShort = 3,
  kTypeLong = 4,
  kTypeRational = 5,
  kTypeSignedByte = 6,
  kTypeSignedShort = 8,
  kTypeSignedLong = 9,
  kTypeSignedRational = 10,
  kTypeFloat = 11,
  kTypeDouble = 12,
  kTypeDirectory = 13,
  kTypeLong8 = 16
};

// Of a number of that type; 0: it is none that PIL compares with an orientation.
size_t bytes_of_number(uint64_t type) {
  switch (type) {
    case kTypeSignedByte:
      return 1;
    case kTypeShort:
    case kTypeSignedShort:
      return 2;
    case kTypeLong:
    case kTypeSignedLong:
    case kTypeFloat:
    case kTypeDirectory:
      return 4;
    case kTypeRational:
    case kTypeSignedRational:
    case kTypeDouble:
    case kTypeLong8:
      return 8;
    default:
      return 0;
  }
}

// Numbers in the byte order that the block begins with; nothing behind its end.
class TiffBlock {
 public:
  explicit TiffBlock(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}

  bool holds(uint64_t at, uint64_t size) const { return at <= bytes_.size() && size <= bytes_.size() - at; }

  std::optional<uint64_t> number(uint64_t at, size_t size) const {
    if (!holds(at, size)) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t place = little_ ? size - 1 - i : i;
      value = value << 8 | static_cast<uint8_t>(bytes_[at + place]);
    }
    return value;
  }

  // Negative ones are as large as unsigned ones here.
  std::optional<double> number_of_type(uint64_t type, uint64_t at) const {
    const size_t size = bytes_of_number(type);
    const std::optional<uint64_t> bits = number(at, size);
    if (!bits || size == 0) return std::nullopt;
    if (type == kTypeFloat) return std::bit_cast<float>(static_cast<uint32_t>(*bits));
    if (type == kTypeDouble) return std::bit_cast<double>(*bits);
    if (type != kTypeRational && type != kTypeSignedRational) return static_cast<double>(*bits);
    const auto part = [&](uint64_t place) { return static_cast<double>(number(place, 4).value_or(0)); };
    return part(at + 4) == 0 ? 0 : part(at) / part(at + 4);
  }

 private:
  std::string_view bytes_;
  bool little_;
};

// Where the pixel of the upright picture comes from.
std::pair<int64_t, int64_t> source_of(int64_t row, int64_t column, const Image& image, int orientation) {
  const int64_t last_row = image.height - 1, last_column = image.width - 1;
  switch (orientation) {
    case 2:
      return {row, last_column - column};
    case 3:
      return {last_row - row, last_column - column};
    case 4:
      return {last_row - row, column};
    case 5:
      return {column, row};
    case 6:
      return {last_row - column, row};
    case 7:
      return {last_row - column, last_column - row};
    case 8:
      return {column, last_column - row};
    default:
      return {row, column};
  }
}

}  // namespace

int orientation_of(std::string_view tiff) {
  constexpr int kUpright = 1;
  if (!tiff.starts_with(std::string_view("II*\0", 4)) && !tiff.starts_with(std::string_view("MM\0*", 4)))
    return kUpright;
  const TiffBlock block(tiff);
  const std::optional<uint64_t> directory = block.number(4, 4);
  const std::optional<uint64_t> entries = directory ? block.number(*directory, 2) : std::nullopt;
  for (uint64_t i = 0; entries && i < *entries; ++i) {
    const uint64_t entry = *directory + 2 + i * kEntryBytes;
    const uint64_t count = block.number(entry + 4, 4).value_or(0);
    if (block.number(entry, 2) != kOrientationTag || count == 0) continue;
    const uint64_t type = block.number(entry + 2, 2).value_or(0), size = bytes_of_number(type);
    const bool elsewhere =
        count * size > 4;  // several numbers, of which the first counts, or one that is long
    const uint64_t place = elsewhere ? block.number(entry + 8, 4).value_or(0) : entry + 8;
    if (elsewhere && !block.holds(place, count * size)) continue;
    const double value = block.number_of_type(type, place).value_or(kUpright);
    return value >= 1 && value <= 8 && std::trunc(value) == value ? static_cast<int>(value) : kUpright;
  }
  return kUpright;
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  const bool lies = orientation >= 5;
  Image turned = blank_image(lies ? image.height : image.width, lies ? image.width : image.height);
  for (int64_t row = 0; row < turned.height; ++row) {
    for (int64_t column = 0; column < turned.width; ++column) {
      const auto [from_row, from_column] = source_of(row, column, image, orientation);
      const uint8_t* from = image.pixel(from_row, from_column);
      uint8_t* to = turned.pixel(row, column);
      for (int channel = 0; channel < 3; ++channel) to[channel] = from[channel];
    }
  }
  return turned;
}

}  // namespace hftrain::images
