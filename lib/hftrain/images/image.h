// A picture in memory: rows of red, green, blue, one byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hftrain::images {

struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // height · width · 3

  const uint8_t* pixel(int64_t row, int64_t column) const {
    return rgb.data() + static_cast<size_t>((row * width + column) * 3);
  }
  uint8_t* pixel(int64_t row, int64_t column) {
    return rgb.data() + static_cast<size_t>((row * width + column) * 3);
  }
};

// All bytes 0: black.
Image blank_image(int64_t width, int64_t height);

// Left becomes right.
void flip_horizontally(Image& image);

}  // namespace hftrain::images
