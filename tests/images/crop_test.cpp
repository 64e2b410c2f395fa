#include "hftrain/images/crop.h"

#include "hftrain/base/json.h"
#include "images/golden.h"
#include "support/catch.h"

namespace hftrain::images {
namespace {

// As PIL's ROTATE_90: the right side goes up.
Image turned(const Image& image) {
  Image result = blank_image(image.height, image.width);
  for (int64_t row = 0; row < result.height; ++row) {
    for (int64_t column = 0; column < result.width; ++column) {
      const uint8_t* from = image.pixel(column, image.width - 1 - row);
      std::copy(from, from + 3, result.pixel(row, column));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("the middle of a picture that keeps its proportions is torchvision's") {
  const Image noise = testing::noise_image(), upright = turned(noise);
  for (const int64_t edge : {16, 50}) {
    const std::string name = "noise_edge" + std::to_string(edge);
    const auto view = [&](const Image& image) {
      const Image resized = resize_shortest_edge(image, edge);
      return crop(resized, center_of(resized, edge, edge));
    };
    CHECK(testing::same_pixels(view(noise), testing::golden_pixels(name)));
    CHECK(testing::same_pixels(view(upright), testing::golden_pixels(name + "_upright")));
  }
  CHECK(testing::same_pixels(crop(noise, center_of(noise, 40, 36)), testing::golden_pixels("noise_padded")));
}

TEST_CASE("a random part is torchvision's for the same draws") {
  const Json cases = read_json_file(testing::golden_image_path("random_parts.json"));
  REQUIRE(cases.size() >= 12);
  for (const Json& made : cases) {
    INFO(dump_json(made));
    size_t drawn = 0;
    const Rectangle part =
        random_part(made["width"], made["height"], [&] { return made["draws"].at(drawn++).get<double>(); });
    CHECK(part == Rectangle{made["part"][0], made["part"][1], made["part"][2], made["part"][3]});
    CHECK(drawn == made["draws"].size());
  }
}

TEST_CASE("what lies beyond a picture is black") {
  Image white = blank_image(2, 2);
  std::fill(white.rgb.begin(), white.rgb.end(), 255);
  const Image around = crop(white, {.top = -1, .left = -1, .height = 4, .width = 4});
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      const bool inside = row > 0 && row < 3 && column > 0 && column < 3;
      CHECK(around.pixel(row, column)[0] == (inside ? 255 : 0));
    }
  }
  CHECK(crop(white, {.top = 5, .left = 5, .height = 1, .width = 1}).rgb == std::vector<uint8_t>(3));
}

}  // namespace hftrain::images
