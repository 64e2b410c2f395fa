#include "hftrain/images/preprocessor.h"

#include <cstring>

#include "hftrain/base/error.h"
#include "images/golden.h"
#include "support/catch.h"

namespace hftrain::images {
namespace {

std::string refusal(const char* config) {
  try {
    read_preprocessor(parse_json(config, "a test"), "ViTImageProcessor", "preprocessor_config.json");
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
    return read_preprocessor(parse_json(config, "a test"), "ViTImageProcessor", "a file");
  };
  CHECK(read("{}") == Preprocessor{});
  CHECK(read(R"({"size": 32})") == Preprocessor{.height = 32, .width = 32});
  CHECK(read(R"({"size": {"height": 8, "width": 9}, "image_mean": [0, 1, 0.5]})") ==
        Preprocessor{.height = 8, .width = 9, .mean = {0, 1, 0.5}});
  CHECK(read(R"({"size": {"shortest_edge": 16}, "image_std": [1, 2, 3]})") ==
        Preprocessor{.height = 16, .width = 16, .keeps_proportions = true, .deviation = {1, 2, 3}});
  for (const Preprocessor& one :
       {Preprocessor{}, Preprocessor{.height = 16, .width = 16, .keeps_proportions = true}})
    CHECK(read_preprocessor(preprocessor_json(one, "AnImageProcessor"), "", "a file") == one);
  CHECK(read(R"({"size": [8, 9]})") == Preprocessor{.height = 8, .width = 9});
  CHECK(read(R"({"image_mean": 0.3, "image_std": [-0.2]})") ==
        Preprocessor{.mean = {0.3, 0.3, 0.3}, .deviation = {-0.2, -0.2, -0.2}});
}

TEST_CASE("the class of an image processor decides what its file leaves out") {
  constexpr Channels kMean = {0.48145466, 0.4578275, 0.40821073},
                     kDeviation = {0.26862954, 0.26130258, 0.27577711};
  const auto read = [](const char* config) {
    return read_preprocessor(parse_json(config, "a test"), "ViTImageProcessor", "a file");
  };
  const Preprocessor clip{
      .height = 16, .width = 16, .keeps_proportions = true, .mean = kMean, .deviation = kDeviation};
  for (const char* named :
       {R"("image_processor_type": "CLIPImageProcessor")",
        R"("image_processor_type": "CLIPImageProcessorFast")",
        R"("image_processor_type": "CLIPImageProcessorPil")",
        R"("feature_extractor_type": "CLIPFeatureExtractor")",
        R"("image_processor_type": "CLIPImageProcessor", "feature_extractor_type": "ViTFeatureExtractor")"}) {
    CHECK(read((std::string("{\"size\": 16, ") + named + "}").c_str()) == clip);
  }
  CHECK(read(R"({"image_processor_type": "CLIPImageProcessor", "size": {"height": 16, "width": 16}})") ==
        Preprocessor{.height = 16, .width = 16, .mean = kMean, .deviation = kDeviation});
  CHECK(read(R"({"image_processor_type": "ConvNextImageProcessor"})") ==
        Preprocessor{.height = 384, .width = 384, .keeps_proportions = true});
  CHECK(read(R"({"image_processor_type": "SiglipImageProcessor"})") == Preprocessor{});
  CHECK(read(R"({"image_processor_type": "SiglipImageProcessor", "size": 224})") ==
        Preprocessor{.keeps_proportions = true});
  CHECK(read(R"({"size": 224, "default_to_square": false})") == Preprocessor{.keeps_proportions = true});
  CHECK_FALSE(read(R"({"image_processor_type": "CLIPImageProcessor", "size": 8, "default_to_square": true})")
                  .keeps_proportions);
}

TEST_CASE("what is left to a class that is not known is refused, and nothing else of it") {
  const auto said = [](const std::string& keys) {
    return refusal((R"({"image_processor_type": "MyImageProcessor")" + keys + "}").c_str());
  };
  const std::string size = R"(, "size": {"height": 8, "width": 8})", mean = R"(, "image_mean": 0.5)",
                    deviation = R"(, "image_std": 0.5)";
  const auto unknown = [](const std::string& key) {
    return "what the image processor means by its " + key + " is not known here";
  };
  CHECK(said(size + mean + deviation) == "read");
  CHECK(said(R"(, "size": 8, "default_to_square": true)" + mean + deviation) == "read");
  CHECK(said(mean + deviation) == unknown("size"));
  CHECK(said(R"(, "size": 8)" + mean + deviation) == unknown("size of one number"));
  CHECK(said(R"(, "size": [8, 8])" + mean + deviation) == unknown("size of two numbers"));
  CHECK(said(size + deviation) == unknown("image_mean"));
  CHECK(said(size + mean) == unknown("image_std"));
}

TEST_CASE("configurations that cannot be used are refused") {
  CHECK(refusal("{}") == "read");
  CHECK(refusal("[1]") == "the configuration of an image processor is no object");
  CHECK(refusal(R"({"size": {"longest_edge": 3}})") ==
        "size must be one side, height and width, or shortest_edge");
  for (const char* size : {"0", "-3", "65537", "1.5"})
    CHECK(refusal((R"({"size": )" + std::string(size) + "}").c_str()) ==
          "a side of the images must be a whole number from 1 to 65536");
  CHECK(refusal(R"({"image_std": [1, 0, 1]})") == "image_std must be three numbers, or one, other than 0");
  for (const char* mean : {"[0.5, 0.5]", "\"a\"", "[]", "[\"a\"]"})
    CHECK(refusal((R"({"image_mean": )" + std::string(mean) + "}").c_str()) ==
          "image_mean must be three numbers, or one");
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
