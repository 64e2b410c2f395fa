// Folders of images to batches: which rows there are and in which order, what is refused, what a batch holds.
#include <algorithm>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/estimate.h"
#include "hftrain/data/image_collator.h"
#include "hftrain/data/numpy_permutation.h"
#include "hftrain/data/prepare.h"
#include "hftrain/data/token_cache.h"
#include "hftrain/images/image_reader.h"
#include "hftrain/images/image_writer.h"
#include "hftrain/tasks/task_table.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::tasks {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

constexpr architectures::ImageShape kShape{
    .channels = 3, .height = 8, .width = 8, .tokens = 5, .processor = "ViTImageProcessor"};

// Pictures of one colour each, so that crops and resizing leave them as they are.
std::string picture(uint8_t colour) {
  images::Image image = images::blank_image(12, 9);
  std::fill(image.rgb.begin(), image.rgb.end(), colour);
  return images::encode_png(image);
}

struct ImageFixture {
  TemporaryDirectory folder;
  arguments::Arguments arguments;
  TaskInput input{.arguments = arguments, .model_config = Json::object(), .image = kShape};

  ImageFixture() {
    arguments.run.seed = 7;
    for (const char* name : {"b", "a-b", "a", "10", "2"}) {
      for (const int number : {0, 7, 14, 21})
        put(std::string("train/") + name + '/' + std::to_string(number) + ".png", picture(0));
    }
  }
  ImageFixture(const ImageFixture&) = delete;
  ImageFixture& operator=(const ImageFixture&) = delete;

  void put(const std::string& name, const std::string& bytes) const {
    write_file_atomically(folder / name, bytes);
  }

  data::PrepareRequest request() {
    data::PrepareRequest request;
    request.train_files = request.survey_files = {folder / "train"};
    request.cache_folder = folder / "cache";
    request.recipe = image_classification().recipe(input);
    return request;
  }
  static data::PreparedData prepare(const data::PrepareRequest& request) {
    return data::prepare(request, {}, {}).value();
  }
  std::string refusal(const data::PrepareRequest& request) const {
    try {
      prepare(request);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      const Diagnostic& diagnostic = error.diagnostics().front();
      CHECK_FALSE((diagnostic.where.empty() || diagnostic.why.empty() || diagnostic.hint.empty()));
      CHECK(data::TokenCache(folder / "cache").keys().empty());
      return error.render();
    }
    return "accepted";
  }
  // Paths below the folder of the split's samples.
  std::vector<std::string> paths(const data::PreparedSplit& split) const {
    const auto dataset = data::Dataset::open(split.cache_path, split.columns);
    std::vector<std::string> found;
    for (int64_t sample = 0; sample < dataset->size(); ++sample) {
      const data::ColumnFile& file = dataset->column(data::kImagePath);
      std::vector<int64_t> bytes(static_cast<size_t>(file.length(sample)));
      file.copy_to(sample, bytes.data());
      found.push_back(fs::path(std::string(bytes.begin(), bytes.end())).lexically_relative(folder / "train"));
    }
    return found;
  }
};

int64_t label_of(const data::PreparedSplit& split, int64_t sample) {
  int64_t label = -1;
  data::Dataset::open(split.cache_path, split.columns)->column(data::kImageClass).copy_to(sample, &label);
  return label;
}

std::vector<float> pixels_of(const data::Collator& collator, const data::Dataset& dataset,
                             const std::vector<int64_t>& samples, const data::DrawKey& key = {}) {
  const auto shapes = collator.shapes(dataset, samples);
  std::vector<float> pixels(samples.size() * static_cast<size_t>(kShape.numel()));
  std::vector<int64_t> labels(samples.size());
  CHECK(shapes[0].sizes == std::vector<int64_t>{static_cast<int64_t>(samples.size()), 3, 8, 8});
  const std::vector<void*> memory = {pixels.data(), labels.data()};
  collator.fill(dataset, samples, key, std::span(memory).first(shapes.size()));
  return pixels;
}

}  // namespace

TEST_CASE("numbers are shuffled as numpy shuffles them") {
  using data::numpy_permutation;  // the golden values are default_rng(seed).permutation(count)
  CHECK(numpy_permutation(0, 10) == std::vector<int64_t>{4, 6, 2, 7, 3, 5, 9, 0, 8, 1});
  CHECK(numpy_permutation(42, 10) == std::vector<int64_t>{5, 6, 0, 7, 3, 2, 4, 9, 1, 8});
  CHECK(numpy_permutation(5'000'000'000, 17) ==
        std::vector<int64_t>{7, 15, 3, 16, 0, 12, 8, 10, 14, 9, 1, 4, 13, 11, 6, 5, 2});
  CHECK(numpy_permutation(3, 0).empty());
}

TEST_CASE("numbers with a fraction and lists are no classes of images") {
  ImageFixture fixture;
  const auto refusal = [&](const std::string& one, const std::string& other) {
    fixture.put("rows.jsonl", R"({"image": "train/a/0.png", "label": )" + one + "}\n" +
                                  R"({"image": "train/b/0.png", "label": )" + other + "}\n");
    data::PrepareRequest request = fixture.request();
    request.train_files = request.survey_files = {fixture.folder / "rows.jsonl"};
    return fixture.refusal(request);
  };
  CHECK_THAT(refusal("0.5", "1.5"), Catch::Contains("numbers with a fraction"));
  CHECK_THAT(refusal("[\"a\"]", "[\"b\"]"), Catch::Contains("they are lists"));
}

TEST_CASE("a model that was trained for no classification of images is told as that") {
  ImageFixture fixture;
  fixture.input.trains = false;
  const auto refusal = [&](const Json& config) {
    fixture.input.model_config = config;
    try {
      image_classification().recipe(fixture.input);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
    return std::string("accepted");
  };
  const Json names = {{"b", 0}, {"a", 1}};
  CHECK(refusal({{"label2id", names}}) == "accepted");
  for (const char* problem : {"regression", "multi_label_classification"}) {
    CHECK_THAT(refusal({{"label2id", names}, {"problem_type", problem}}),
               Catch::Contains("the labels of the model are no classes") &&
                   Catch::Contains(std::string("problem_type is ") + problem));
  }
  CHECK_THAT(refusal({{"label2id", {{"LABEL_0", 0}}}}), Catch::Contains("counts one label"));
}

TEST_CASE("rows and labels of a folder are those of imagefolder") {
  ImageFixture fixture;
  fixture.put("train/a/notes.txt", "no image by its name");
  fixture.put("train/.hidden/x/1.png", picture(0));
  fixture.put("train/__cache/1.png", picture(0));
  const data::PreparedData data = ImageFixture::prepare(fixture.request());
  CHECK(fixture.paths(*data.train) ==
        std::vector<std::string>{"10/0.png",   "10/14.png", "10/21.png", "10/7.png",  "2/0.png",
                                 "2/14.png",   "2/21.png",  "2/7.png",   "a-b/0.png", "a-b/14.png",
                                 "a-b/21.png", "a-b/7.png", "a/0.png",   "a/14.png",  "a/21.png",
                                 "a/7.png",    "b/0.png",   "b/14.png",  "b/21.png",  "b/7.png"});
  CHECK(data.facts["names"] == Json::array({"10", "2", "a", "a-b", "b"}));
  CHECK(label_of(*data.train, 8) == 3);
  CHECK(label_of(*data.train, 12) == 2);
}

TEST_CASE("validation images and fewer images are chosen as train_test_split and shuffle choose them") {
  ImageFixture fixture;
  fixture.arguments.data.train_val_split = 0.15;
  data::PrepareRequest request = fixture.request();
  request.hold_out_percent = 15;
  data::PreparedData data = ImageFixture::prepare(request);
  CHECK(fixture.paths(*data.validation) == std::vector<std::string>{"10/7.png", "a-b/0.png", "a/0.png"});
  CHECK(data.train->samples == 17);
  const std::vector<std::string> all = fixture.paths(*data.train);
  request.max_train_samples = 4;
  request.max_eval_samples = 2;
  data = ImageFixture::prepare(request);
  const std::vector<int64_t> places = data::numpy_permutation(7, 17);
  std::vector<std::string> expected;
  for (size_t i = 0; i < 4; ++i) expected.push_back(all[static_cast<size_t>(places[i])]);
  CHECK(fixture.paths(*data.train) == expected);
  CHECK(data.validation->samples == 2);
  CHECK(data::estimate_prepared(request).train->samples == 4);
  request.max_train_samples = 17;  // as many as there are: shuffled all the same
  data = ImageFixture::prepare(request);
  expected.clear();
  for (const int64_t place : places) expected.push_back(all[static_cast<size_t>(place)]);
  CHECK(fixture.paths(*data.train) == expected);
}

TEST_CASE("files with paths and classes are rows too, and columns have the names that are asked for") {
  ImageFixture fixture;
  fixture.put("rows/list.csv", "where,animal,label\n../train/a/0.png,fox,1\n../train/b/7.png,cat,2\n");
  fixture.arguments.data.image_column_name = "where";
  fixture.arguments.data.label_column_name = "animal";
  data::PrepareRequest request = fixture.request();
  request.train_files = request.survey_files = {fixture.folder / "rows/list.csv"};
  fixture.arguments.data.image_column_name = "picture";
  request.recipe = image_classification().recipe(fixture.input);
  CHECK_THAT(fixture.refusal(request), Catch::Contains("there is no column 'picture'"));
  fixture.arguments.data.image_column_name = "where";
  request.recipe = image_classification().recipe(fixture.input);
  const data::PreparedData data = ImageFixture::prepare(request);
  CHECK(fixture.paths(*data.train) == std::vector<std::string>{"a/0.png", "b/7.png"});
  CHECK(data.facts["names"] == Json::array({"cat", "fox"}));
}

TEST_CASE("equal rows in two folders name the images of each") {
  ImageFixture fixture;
  for (const char* folder : {"train/here", "train/there"}) {
    fixture.put(std::string(folder) + "/rows.jsonl",
                "{\"image\": \"1.png\", \"label\": \"a\"}\n{\"image\": \"2.png\", \"label\": \"b\"}\n");
    for (const char* name : {"/1.png", "/2.png"}) fixture.put(folder + std::string(name), picture(3));
  }
  data::PrepareRequest request = fixture.request();
  request.train_files = request.survey_files = {fixture.folder / "train/here/rows.jsonl"};
  CHECK(fixture.paths(*ImageFixture::prepare(request).train) ==
        std::vector<std::string>{"here/1.png", "here/2.png"});
  request.train_files = request.survey_files = {fixture.folder / "train/there/rows.jsonl"};
  CHECK(fixture.paths(*ImageFixture::prepare(request).train) ==
        std::vector<std::string>{"there/1.png", "there/2.png"});
}

TEST_CASE("what is no data for this task is refused in four parts") {
  ImageFixture fixture;
  const data::PrepareRequest request = fixture.request();
  const std::string broken = "train/b/21.png";
  SECTION("an image of 0 bytes") {
    fixture.put(broken, "");
    CHECK_THAT(fixture.refusal(request), Catch::Contains("it has 0 bytes") && Catch::Contains("b/21.png"));
  }
  SECTION("a JPEG that ends too early") {
    images::Image image = images::blank_image(64, 64);
    const std::string jpeg = images::encode_jpeg(image, 90);
    fixture.put(broken, jpeg.substr(0, jpeg.size() - 20));
    CHECK_THAT(fixture.refusal(request), Catch::Contains("it ends too early"));
  }
  SECTION("a text that is called an image") {
    fixture.put(broken, "hello");
    CHECK_THAT(fixture.refusal(request), Catch::Contains("neither a PNG nor a JPEG"));
  }
  SECTION("an image of another kind") {
    fixture.put("train/b/1.webp", "RIFF");
    CHECK_THAT(fixture.refusal(request), Catch::Contains("b/1.webp"));
  }
  SECTION("an image beside the folders of the classes") {
    fixture.put("train/loose.png", picture(0));
    CHECK_THAT(fixture.refusal(request), Catch::Contains("an image lies beside the folders of the classes") &&
                                             Catch::Contains("train/loose.png"));
  }
  SECTION("a folder without classes") {
    for (const char* name : {"b", "a-b", "a", "10", "2"})
      fs::remove_all(fixture.folder / ("train/" + std::string(name)));
    fixture.put("train/1.png", picture(0));
    CHECK_THAT(fixture.refusal(request),
               Catch::Contains("no column 'label'") && Catch::Contains("sub-folder"));
    fs::remove(fixture.folder / "train/1.png");
    CHECK_THAT(fixture.refusal(request),
               Catch::Contains("there is no image in the folder") && Catch::Contains(".jpe, .jfif"));
  }
  SECTION("a class that is not among those of the training images") {
    fixture.put("valid/a/1.png", picture(0));
    fixture.put("valid/wolf/1.png", picture(0));
    data::PrepareRequest with_validation = request;
    with_validation.validation_files = {fixture.folder / "valid"};
    CHECK_THAT(fixture.refusal(with_validation), Catch::Contains("it is 'wolf'") && Catch::Contains("a-b"));
  }
}

TEST_CASE("batches hold the views of their images, and random ones depend on seed, epoch and sample alone") {
  ImageFixture fixture;
  images::Image noise = images::blank_image(31, 23);
  for (size_t i = 0; i < noise.rgb.size(); ++i) noise.rgb[i] = static_cast<uint8_t>(i * i * 31 % 251);
  for (const char* name : {"a/0.png", "a/7.png"})
    fixture.put(std::string("train/") + name, images::encode_png(noise));
  fixture.put("train/2/0.png", picture(255));
  const data::PreparedData data = ImageFixture::prepare(fixture.request());
  const auto dataset = data::Dataset::open(data.train->cache_path, data.train->columns);
  const images::Preprocessor preprocessor = image_classification().preprocessor(fixture.input);
  CHECK(preprocessor == images::Preprocessor{.height = 8, .width = 8});
  const auto training = data::image_collator(preprocessor, data::ImageView::kTraining);
  const auto evaluation = data::image_collator(preprocessor, data::ImageView::kEvaluation);
  constexpr int64_t kWhite = 4, kNoise = 12, kOther = 15;  // two of the same bytes
  CHECK(pixels_of(*evaluation, *dataset, {kWhite}) == std::vector<float>(3 * 64, 1));
  CHECK(pixels_of(*training, *dataset, {kWhite}) == std::vector<float>(3 * 64, 1));
  std::vector<float> expected(3 * 64);
  write_pixels(evaluation_view(noise, preprocessor, "noise"), preprocessor, expected.data());
  CHECK(pixels_of(*evaluation, *dataset, {kNoise}) == expected);
  const data::DrawKey key{.seed = 5, .epoch = 2};
  const auto view = [&](int64_t sample, const data::DrawKey& with) {
    return pixels_of(*training, *dataset, {sample}, with);
  };
  CHECK(view(kNoise, key) == view(kNoise, key));
  CHECK(view(kNoise, key) != view(kOther, key));
  CHECK(view(kNoise, key) != view(kNoise, {.seed = 6, .epoch = 2}));
  CHECK(view(kNoise, key) != view(kNoise, {.seed = 5, .epoch = 3}));
  const std::vector<float> both = pixels_of(*training, *dataset, {kOther, kNoise}, key),
                           alone = view(kNoise, key);
  CHECK(std::equal(alone.begin(), alone.end(), both.begin() + 3 * 64));
}

TEST_CASE("the image processor must give what the model looks at") {
  ImageFixture fixture;
  const auto refusal = [&] {
    try {
      image_classification().preprocessor(fixture.input);
    } catch (const Error& error) {
      return error.render();
    }
    return std::string("accepted");
  };
  CHECK(refusal() == "accepted");
  fixture.input.preprocessor = {{"size", 16}};
  fixture.input.preprocessor_origin = "here/preprocessor_config.json";
  CHECK_THAT(refusal(), Catch::Contains("16 by 16") && Catch::Contains("8 by 8") && Catch::Contains("here/"));
  fixture.input.preprocessor = {{"size", {{"shortest_edge", 8}}}};
  CHECK(refusal() == "accepted");
  fixture.input.image->channels = 1;
  CHECK_THAT(refusal(), Catch::Contains("1 channels"));
  fixture.input.image.reset();
  CHECK_THAT(refusal(), Catch::Contains("does not look at images"));
}

}  // namespace hftrain::tasks
