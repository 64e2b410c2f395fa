#include "hftrain/images/resize.h"

#include <algorithm>
#include <cmath>

namespace hftrain::images {
namespace {

constexpr int kFractionBits = 32 - 8 - 2;  // of a weight: sums of bytes times weights stay within 32 bits

// For one place of the output: which places of the input, and their weights.
struct Window {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

int32_t fixed_point(double weight) {
  return static_cast<int32_t>(std::lround(weight * (1 << kFractionBits)));
}

// Along one direction, `from` places becoming `to`.
std::vector<Window> windows_of(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);  // half the width of the triangle
  std::vector<Window> windows(static_cast<size_t>(to));
  for (int64_t place = 0; place < to; ++place) {
    const double center = (static_cast<double>(place) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto end = std::min(from, static_cast<int64_t>(center + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t source = first; source < end; ++source) {
      const double distance =
          (static_cast<double>(source - first) + static_cast<double>(first) - center + 0.5) * (1.0 / support);
      weights.push_back(std::max(0.0, 1.0 - std::abs(distance)));
      sum += weights.back();
    }
    Window& window = windows[static_cast<size_t>(place)];
    window.first = first;
    for (const double weight : weights)
      window.weights.push_back(fixed_point(sum == 0 ? weight : weight / sum));
  }
  return windows;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

// `step` bytes lie between neighbours of the direction.
void weigh(const Window& window, const uint8_t* first, size_t step, uint8_t* out) {
  int32_t sums[3] = {1 << (kFractionBits - 1), 1 << (kFractionBits - 1), 1 << (kFractionBits - 1)};
  const uint8_t* pixel = first;
  for (const int32_t weight : window.weights) {
    for (int channel = 0; channel < 3; ++channel) sums[channel] += pixel[channel] * weight;
    pixel += step;
  }
  for (int channel = 0; channel < 3; ++channel) out[channel] = rounded(sums[channel]);
}

Image resize_rows(const Image& image, int64_t width) {
  const std::vector<Window> windows = windows_of(image.width, width);
  Image result = blank_image(width, image.height);
  for (int64_t row = 0; row < image.height; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      const Window& window = windows[static_cast<size_t>(column)];
      weigh(window, image.pixel(row, window.first), 3, result.pixel(row, column));
    }
  }
  return result;
}

// A whole row at a time, so that neighbours in memory are read together.
Image resize_columns(const Image& image, int64_t height) {
  const std::vector<Window> windows = windows_of(image.height, height);
  const auto bytes = static_cast<size_t>(image.width * 3);
  Image result = blank_image(image.width, height);
  std::vector<int32_t> sums(bytes);
  for (int64_t row = 0; row < height; ++row) {
    const Window& window = windows[static_cast<size_t>(row)];
    std::fill(sums.begin(), sums.end(), 1 << (kFractionBits - 1));
    for (size_t i = 0; i < window.weights.size(); ++i) {
      const uint8_t* source = image.pixel(window.first + static_cast<int64_t>(i), 0);
      const int32_t weight = window.weights[i];
      for (size_t byte = 0; byte < bytes; ++byte) sums[byte] += source[byte] * weight;
    }
    uint8_t* out = result.pixel(row, 0);
    for (size_t byte = 0; byte < bytes; ++byte) out[byte] = rounded(sums[byte]);
  }
  return result;
}

}  // namespace

Image resize_bilinear(const Image& image, int64_t width, int64_t height) {
  if (width == image.width && height == image.height) return image;
  if (width == image.width) return resize_columns(image, height);
  Image across = resize_rows(image, width);
  return height == image.height ? across : resize_columns(across, height);
}

}  // namespace hftrain::images
