#include "hftrain/images/image.h"

#include <algorithm>

namespace hftrain::images {

Image blank_image(int64_t width, int64_t height) {
  Image image{.width = width, .height = height};
  image.rgb.resize(static_cast<size_t>(width * height * 3));
  return image;
}

void flip_horizontally(Image& image) {
  for (int64_t row = 0; row < image.height; ++row) {
    for (int64_t left = 0, right = image.width - 1; left < right; ++left, --right)
      std::swap_ranges(image.pixel(row, left), image.pixel(row, left) + 3, image.pixel(row, right));
  }
}

}  // namespace hftrain::images
