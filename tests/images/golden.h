// Pictures that scripts/golden/images.py wrote.
#pragma once

#include <string>

#include "hftrain/base/file.h"
#include "hftrain/images/image_reader.h"
#include "support/paths.h"

namespace hftrain::testing {

inline std::string golden_image_path(const std::string& name) {
  return source_dir() + "/tests/golden/images/" + name;
}

// NAME.rgb: "WIDTH HEIGHT", a new line, the bytes.
inline images::Image golden_pixels(const std::string& name) {
  const std::string bytes = read_file(golden_image_path(name + ".rgb"));
  const size_t space = bytes.find(' '), line = bytes.find('\n');
  images::Image image{.width = std::stoll(bytes.substr(0, space)),
                      .height = std::stoll(bytes.substr(space + 1))};
  image.rgb.assign(bytes.begin() + static_cast<std::ptrdiff_t>(line) + 1, bytes.end());
  return image;
}

inline bool same_pixels(const images::Image& a, const images::Image& b) {
  return a.width == b.width && a.height == b.height && a.rgb == b.rgb;
}

inline images::Image noise_image() {
  return images::read_image(golden_image_path("noise.png"));
}

}  // namespace hftrain::testing
