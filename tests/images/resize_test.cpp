#include "hftrain/images/resize.h"

#include "images/golden.h"
#include "support/catch.h"

namespace hftrain::images {

TEST_CASE("pictures made larger, smaller, and both at once are PIL's to the bit where it takes rows first") {
  const Image noise = testing::noise_image();
  for (const auto& [width, height] : {std::pair{8, 8}, {64, 50}, {41, 9}, {3, 29}, {1, 1}, {41, 29}}) {
    const std::string name = "noise_" + std::to_string(width) + "x" + std::to_string(height);
    INFO(name);
    CHECK(testing::same_pixels(resize_bilinear(noise, width, height), testing::golden_pixels(name)));
  }
}

}  // namespace hftrain::images
