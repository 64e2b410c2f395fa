#include "hftrain/data/sample_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "hftrain/data/split_mix.h"
#include "hftrain/images/image_writer.h"

namespace hftrain::data {
namespace {

constexpr std::array kColours = {"blue", "green", "red"};
constexpr std::array<size_t, 3> kChannels = {2, 1, 0};  // of red, green, blue
constexpr int64_t kSide = 40;                           // pixels
constexpr int kSpots = 24, kJpegQuality = 90;
constexpr uint64_t kMisplaced = 10;  // one in so many lies in another folder

void draw_spot(SplitMix64& numbers, size_t channel, images::Image& image) {
  const auto radius = static_cast<int64_t>(2 + numbers.below(4));
  const auto row = static_cast<int64_t>(numbers.below(kSide)),
             column = static_cast<int64_t>(numbers.below(kSide));
  const bool disc = numbers.below(2) == 0;
  const auto bright = static_cast<uint8_t>(150 + numbers.below(100)),
             dark = static_cast<uint8_t>(numbers.below(60));
  for (int64_t y = std::max<int64_t>(0, row - radius); y <= std::min(kSide - 1, row + radius); ++y) {
    for (int64_t x = std::max<int64_t>(0, column - radius); x <= std::min(kSide - 1, column + radius); ++x) {
      if (disc && (y - row) * (y - row) + (x - column) * (x - column) > radius * radius) continue;
      for (size_t i = 0; i < 3; ++i) image.pixel(y, x)[i] = i == channel ? bright : dark;
    }
  }
}

images::Image picture_of(SplitMix64& numbers, size_t colour) {
  images::Image image = images::blank_image(kSide, kSide);
  for (int64_t row = 0; row < kSide; ++row) {
    for (int64_t column = 0; column < kSide; ++column) {
      const auto grey = static_cast<uint8_t>(100 + numbers.below(60));
      std::fill(image.pixel(row, column), image.pixel(row, column) + 3, grey);
    }
  }
  for (int spot = 0; spot < kSpots; ++spot) draw_spot(numbers, kChannels[colour], image);
  return image;
}

}  // namespace

void sample_images(uint64_t seed, int64_t bytes, const std::function<void(const SampleImage&)>& take) {
  SplitMix64 numbers(seed);
  int64_t written = 0;
  for (size_t number = 0; written < bytes || number < 2 * kColours.size(); ++number) {
    // The first ones go round, so that there is no class without an image.
    const size_t colour =
        number < 2 * kColours.size() ? number % kColours.size() : numbers.below(kColours.size());
    const images::Image picture = picture_of(numbers, colour);
    const bool misplaced = numbers.below(kMisplaced) == 0 && number >= 2 * kColours.size();
    const size_t folder = (colour + (misplaced ? 1 + numbers.below(2) : 0)) % kColours.size();
    const bool png = number % 2 == 0;
    char name[32];
    std::snprintf(name, sizeof(name), "%s/%05zu.%s", kColours[folder], number, png ? "png" : "jpg");
    const SampleImage image{name, png ? encode_png(picture) : encode_jpeg(picture, kJpegQuality)};
    written += static_cast<int64_t>(image.bytes.size());
    take(image);
  }
}

ImageFloor sample_images_floor() {
  const double wrong = 1.0 / static_cast<double>(kMisplaced), right = 1 - wrong;
  return {.nats_per_image = -right * std::log(right) - wrong * std::log(wrong / 2), .accuracy = right};
}

}  // namespace hftrain::data
