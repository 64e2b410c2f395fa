// A PNG or JPEG file, checked and decoded: what is decoded has the pixels that it says.
#include "fuzz.h"
#include "hftrain/images/image_reader.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr images::ImageLimits kLimits{.pixels = 1 << 20};
  fuzz::read_or_refuse([&] { images::check_image(bytes, "an input", kLimits); });
  return fuzz::read_or_refuse([&] {
    const images::Image image = images::decode_image(bytes, "an input", kLimits);
    if (image.rgb.size() != static_cast<size_t>(image.width * image.height * 3)) __builtin_trap();
  });
}
