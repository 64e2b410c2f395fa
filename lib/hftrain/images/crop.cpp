#include "hftrain/images/crop.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hftrain/images/resize.h"

namespace hftrain::images {
namespace {

constexpr double kLeastShare = 0.08, kLeastRatio = 3.0 / 4.0, kLargestRatio = 4.0 / 3.0;

// Halves to even, as Python's round() has it.
int64_t python_round(double value) {
  return static_cast<int64_t>(std::nearbyint(value));
}

int64_t half(int64_t difference) {
  return python_round(static_cast<double>(difference) / 2.0);
}

// Of the middle, with a ratio of sides that is allowed.
Rectangle middle_part(int64_t width, int64_t height) {
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  Rectangle part{.height = height, .width = width};
  if (ratio < kLeastRatio) {
    part.height = python_round(static_cast<double>(width) / kLeastRatio);
  } else if (ratio > kLargestRatio) {
    part.width = python_round(static_cast<double>(height) * kLargestRatio);
  }
  part.top = (height - part.height) / 2;
  part.left = (width - part.width) / 2;
  return part;
}

}  // namespace

Image crop(const Image& image, const Rectangle& part) {
  Image result = blank_image(part.width, part.height);
  const int64_t left = std::max<int64_t>(0, -part.left);
  const int64_t columns = std::min(part.width, image.width - part.left) - left;
  if (columns <= 0) return result;
  for (int64_t row = 0; row < part.height; ++row) {
    const int64_t source = part.top + row;
    if (source < 0 || source >= image.height) continue;
    std::memcpy(result.pixel(row, left), image.pixel(source, part.left + left),
                static_cast<size_t>(columns * 3));
  }
  return result;
}

Image resize_shortest_edge(const Image& image, int64_t edge) {
  const int64_t shorter = std::min(image.width, image.height), longer = std::max(image.width, image.height);
  const int64_t other = edge * longer / shorter;
  return image.width <= image.height ? resize_bilinear(image, edge, other)
                                     : resize_bilinear(image, other, edge);
}

Rectangle center_of(const Image& image, int64_t height, int64_t width) {
  // A smaller picture is padded first, its extra row and column behind it; then the middle is taken.
  const int64_t above = std::max<int64_t>(0, height - image.height) / 2;
  const int64_t before = std::max<int64_t>(0, width - image.width) / 2;
  const int64_t padded_height = std::max(height, image.height), padded_width = std::max(width, image.width);
  return {.top = half(padded_height - height) - above,
          .left = half(padded_width - width) - before,
          .height = height,
          .width = width};
}

Rectangle random_part(int64_t width, int64_t height, const std::function<double()>& uniform) {
  constexpr int kTries = 10;
  const double area = static_cast<double>(width) * static_cast<double>(height);
  const double least = std::log(kLeastRatio), most = std::log(kLargestRatio);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * (kLeastShare + (1.0 - kLeastShare) * uniform());
    const double ratio = std::exp(least + (most - least) * uniform());
    Rectangle part;
    part.width = python_round(std::sqrt(target * ratio));
    part.height = python_round(std::sqrt(target / ratio));
    if (part.width < 1 || part.height < 1 || part.width > width || part.height > height) continue;
    part.top = static_cast<int64_t>(uniform() * static_cast<double>(height - part.height + 1));
    part.left = static_cast<int64_t>(uniform() * static_cast<double>(width - part.width + 1));
    return part;
  }
  return middle_part(width, height);
}

}  // namespace hftrain::images
