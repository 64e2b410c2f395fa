#include "hftrain/images/exif.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace hftrain::images {
namespace {

constexpr uint32_t kOrientationTag = 0x0112, kEntryBytes = 12;

// Bytes of a whole number of that type of TIFF; 0: it is none.
size_t bytes_of_number(uint32_t type) {
  switch (type) {
    case 6:  // SBYTE
      return 1;
    case 3:  // SHORT
    case 8:  // SSHORT
      return 2;
    case 4:   // LONG
    case 9:   // SLONG
    case 13:  // IFD
      return 4;
    default:
      return 0;
  }
}

// Numbers in the byte order that the block begins with; nothing behind its end.
class TiffBlock {
 public:
  explicit TiffBlock(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}

  std::optional<uint32_t> number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t place = little_ ? size - 1 - i : i;
      value = value << 8 | static_cast<uint8_t>(bytes_[at + place]);
    }
    return value;
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
  const std::optional<uint32_t> directory = block.number(4, 4);
  const std::optional<uint32_t> entries = directory ? block.number(*directory, 2) : std::nullopt;
  for (uint32_t i = 0; entries && i < *entries; ++i) {
    const size_t entry = size_t{*directory} + 2 + size_t{i} * kEntryBytes;
    const uint64_t count = block.number(entry + 4, 4).value_or(0);
    if (block.number(entry, 2) != kOrientationTag || count == 0) continue;
    const size_t size = bytes_of_number(block.number(entry + 2, 2).value_or(0));
    if (size == 0) return kUpright;
    const bool elsewhere = count * size > 4;  // several numbers, of which the first counts
    const size_t place = elsewhere ? block.number(entry + 8, 4).value_or(0) : entry + 8;
    const uint32_t value = block.number(place, size).value_or(0);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright;
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
