#include "hftrain/images/image_reader.h"

#include <filesystem>
#include <set>

#include "hftrain/base/error.h"
#include "images/golden.h"
#include "support/catch.h"

namespace hftrain::images {
namespace {

namespace fs = std::filesystem;

std::string golden_bytes(const std::string& name) {
  return read_file(testing::golden_image_path(name));
}

// Why an image is refused; "read" when it is not.
std::string refusal(std::string_view bytes, bool whole = true, const ImageLimits& limits = {}) {
  try {
    if (whole) {
      decode_image(bytes, "a.png", limits);
    } else {
      check_image(bytes, "a.png", limits);
    }
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    const Diagnostic& diagnostic = error.diagnostics().front();
    CHECK(diagnostic.where == "a.png");
    CHECK_FALSE(diagnostic.hint.empty());
    return diagnostic.why;
  }
  return "read";
}

// Of a PNG file, with a header that says another size.
std::string with_size(std::string png, uint32_t width, uint32_t height) {
  const auto put = [&](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) png[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width), put(20, height);
  uint32_t crc = 0xffffffff;  // of the chunk's name and content
  for (size_t at = 12; at < 29; ++at) {
    crc ^= static_cast<uint8_t>(png[at]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  put(29, ~crc);
  return png;
}

}  // namespace

TEST_CASE("every kind of PNG and JPEG has the pixels that PIL gives it, upright") {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(testing::golden_image_path(""))) {
    const std::string suffix = entry.path().extension();
    if (suffix != ".png" && suffix != ".jpg") continue;
    INFO(entry.path());
    ++files;
    CHECK(testing::same_pixels(read_image(entry.path()), testing::golden_pixels(entry.path().stem())));
    CHECK_NOTHROW(check_image(read_file(entry.path()), "a file"));
  }
  CHECK(files >= 53);
}

TEST_CASE("what is no image is refused with what it is instead") {
  for (const bool whole : {false, true}) {
    CHECK(refusal("", whole) == "it has 0 bytes");
    CHECK(refusal("not an image", whole) == "it begins like neither a PNG nor a JPEG");
    CHECK(refusal("GIF89a....", whole) == "it is a GIF");
    CHECK(refusal("RIFF\1\2\3\4WEBPVP8 ", whole) == "it is a WebP");
    CHECK(refusal("BM123456", whole) == "it is a BMP");
    CHECK(refusal(std::string_view("II*\0....", 8), whole) == "it is a TIFF");
  }
}

TEST_CASE("an image that ends too early is refused wherever it ends, and so is one that is checked only") {
  for (const char* name : {"jpeg.jpg", "jpeg_progressive.jpg", "rgb.png", "interlaced.png"}) {
    INFO(name);
    const std::string bytes = golden_bytes(name);
    const size_t tail = bytes.starts_with("\x89PNG") ? 17 : 1;  // the end mark of a PNG may be missing
    for (size_t size = 0; size + tail < bytes.size(); size += 1 + size / 8) {
      INFO(size);
      CHECK(refusal(std::string_view(bytes).substr(0, size), /*whole=*/false) != "read");
      CHECK(refusal(std::string_view(bytes).substr(0, size)) != "read");
    }
  }
  const std::string cut = golden_bytes("jpeg.jpg").substr(0, 500);
  CHECK(refusal(cut).find("it ends too early") == 0);
}

TEST_CASE("a PNG whose header, palette, pixels or names of chunks are damaged is refused when only checked") {
  const auto damaged = [](const std::string& name, const std::string& chunk, size_t behind) {
    std::string bytes = golden_bytes(name);
    const size_t at = bytes.find(chunk);
    REQUIRE(at != std::string::npos);
    bytes[at + behind] = static_cast<char>(bytes[at + behind] ^ 0x81);
    return refusal(bytes, /*whole=*/false);
  };
  CHECK(damaged("rgb.png", "IHDR", 9) == "its header is damaged");
  CHECK(damaged("palette.png", "PLTE", 5) == "its chunk PLTE is damaged");
  CHECK(damaged("rgb.png", "IDAT", 2) == "its chunk ID?T is damaged");
  CHECK(damaged("rgb.png", "IDAT", 20) == "its chunk IDAT is damaged");
}

TEST_CASE("damaged images are refused or give pixels, and never more") {
  for (const char* name : {"jpeg.jpg", "jpeg_turned6.jpg", "rgb.png", "palette.png"}) {
    const std::string whole = golden_bytes(name);
    for (size_t at = 0; at < whole.size(); at += 3) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
      INFO(name << " " << at);
      try {
        const Image image = decode_image(bytes, "a file", {.pixels = 1 << 20});
        CHECK(image.rgb.size() == static_cast<size_t>(image.width * image.height * 3));
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kData);
      }
    }
  }
}

TEST_CASE(
    "sizes that no file of its length can fill, or that are too large, are refused before memory is asked "
    "for") {
  const std::string png = golden_bytes("rgb.png");
  CHECK(refusal(with_size(png, 10'000, 10'000)).find("too short for its 10000 by 10000") !=
        std::string::npos);
  CHECK(refusal(with_size(png, 20'000, 20'000)).find("more than the 178,956,970") != std::string::npos);
  CHECK(refusal(with_size(png, 20'000, 20'000), /*whole=*/false).find("more than") != std::string::npos);
  CHECK(refusal(with_size(png, 0x7fffffff, 0x7fffffff)).find("more than") != std::string::npos);
  CHECK(refusal(png, /*whole=*/true, {.pixels = 9 * 13 - 1}).find("more than the 116") != std::string::npos);
  CHECK(refusal(png, /*whole=*/true, {.pixels = 9 * 13}) == "read");
  std::string jpeg = golden_bytes("jpeg_progressive.jpg");
  const size_t frame = jpeg.find("\xff\xc2");
  REQUIRE(frame != std::string::npos);
  for (size_t i = 0; i < 4; ++i)
    jpeg[frame + 5 + i] = static_cast<char>(i % 2 == 0 ? 0x30 : 0);  // 12,288 by 12,288
  CHECK(refusal(jpeg).find("too short for its 12288 by 12288") != std::string::npos);
}

}  // namespace hftrain::images
