#include "hftrain/images/preprocessor.h"

#include <cstring>

#include "hftrain/base/error.h"
#include "images/golden.h"
#include "support/catch.h"

namespace hftrain::images {
namespace {

std::string refusal(const char* config) {
  try {
    read_preprocessor(parse_json(config, "a test"), "preprocessor_config.json");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == "preprocessor_config.json");
    return error.diagnostics().front().what;
  }
  return "read";
}

}  // namespace

TEST_CASE("pixels are normalised to the numbers of torchvision") {
  const Preprocessor preprocessor{
      .height = 29, .width = 41, .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};
  std::vector<float> pixels(3 * 29 * 41);
  write_pixels(testing::noise_image(), preprocessor, pixels.data());
  const std::string golden = read_file(testing::golden_image_path("noise_pixels.f32"));
  REQUIRE(golden.size() == pixels.size() * sizeof(float));
  CHECK(std::memcmp(golden.data(), pixels.data(), golden.size()) == 0);
}

TEST_CASE("the sizes of old and new configurations") {
  const auto read = [](const char* config) {
    return read_preprocessor(parse_json(config, "a test"), "a file");
  };
  CHECK(read("{}") == Preprocessor{});
  CHECK(read(R"({"size": 32})") == Preprocessor{.height = 32, .width = 32});
  CHECK(read(R"({"size": {"height": 8, "width": 9}, "image_mean": [0, 1, 0.5]})") ==
        Preprocessor{.height = 8, .width = 9, .mean = {0, 1, 0.5}});
  CHECK(read(R"({"size": {"shortest_edge": 16}, "image_std": [1, 2, 3]})") ==
        Preprocessor{.height = 16, .width = 16, .keeps_proportions = true, .deviation = {1, 2, 3}});
  for (const Preprocessor& one :
       {Preprocessor{}, Preprocessor{.height = 16, .width = 16, .keeps_proportions = true}})
    CHECK(read_preprocessor(preprocessor_json(one, "AnImageProcessor"), "a file") == one);
}

TEST_CASE("configurations that cannot be used are refused") {
  CHECK(refusal("{}") == "read");
  CHECK(refusal("[1]") == "the configuration of an image processor is no object");
  CHECK(refusal(R"({"size": {"longest_edge": 3}})") ==
        "size must be one side, height and width, or shortest_edge");
  for (const char* size : {"0", "-3", "65537", "1.5"})
    CHECK(refusal((R"({"size": )" + std::string(size) + "}").c_str()) ==
          "a side of the images must be a whole number from 1 to 65536");
  CHECK(refusal(R"({"image_std": [1, 0, 1]})") == "image_std must be three numbers above 0");
  CHECK(refusal(R"({"image_mean": [0.5]})") == "image_mean must be three numbers");
}

TEST_CASE("a picture is seen whole or by its middle for evaluation, and too narrow a one is refused") {
  const Image noise = testing::noise_image();
  const Preprocessor whole{.height = 8, .width = 8},
      middle{.height = 16, .width = 16, .keeps_proportions = true};
  CHECK(testing::same_pixels(evaluation_view(noise, whole, "a file"), testing::golden_pixels("noise_8x8")));
  CHECK(
      testing::same_pixels(evaluation_view(noise, middle, "a file"), testing::golden_pixels("noise_edge16")));
  const Image narrow = blank_image(1, 1'000'000);
  CHECK(evaluation_view(narrow, whole, "a file").height == 8);
  CHECK_THROWS_WITH(evaluation_view(narrow, middle, "a file"), Catch::Contains("too narrow"));
}

TEST_CASE("a training view is a part, resized, and flipped for half of the draws") {
  const Image noise = testing::noise_image();
  const Preprocessor preprocessor{.height = 29, .width = 41};
  const auto view = [&](double last) {
    // The whole picture: ten tries fail for their ratio; nothing is drawn for its place.
    int drawn = 0;
    return training_view(noise, preprocessor, [&] { return ++drawn <= 20 ? 0.999999 : last; });
  };
  Image flipped = noise;
  flip_horizontally(flipped);
  const Image left = view(0.49), right = view(0.5);
  CHECK_FALSE(testing::same_pixels(left, right));
  Image again = left;
  flip_horizontally(again);
  CHECK(testing::same_pixels(again, right));
}

}  // namespace hftrain::images
