// PNG and JPEG files as PIL gives them with convert("RGB"), turned as their EXIF says: what the `datasets` package
// and run_image_classification make of them.
//
//   grey, 1 to 8 bits    the same value in all three; 16 bits: cut at 255, as PIL does
//   colour of 16 bits    the upper byte of each
//   palette              its colours; an index outside is black
//   transparency         left out
//   CMYK, YCCK           inverted, as Adobe writes them; c·k/255 and so on
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hftrain/images/image.h"

namespace hftrain::images {

struct ImageLimits {
  // Where PIL refuses an image for a decompression bomb. Decoding one takes at most 3 bytes a pixel, a progressive
  // JPEG 6 more.
  int64_t pixels = 178'956'970;
};

// `bytes` are a whole file, `origin` names it in messages. Any bytes give an image or an Error (exit code 4):
// not an image, a kind that is not read, too large, damaged, ends too early. Memory is asked for once the file is
// long enough to fill it. Thread-safe.
Image decode_image(std::string_view bytes, const std::string& origin, const ImageLimits& limits = {});

// The file at `path`.
Image read_image(const std::string& path, const ImageLimits& limits = {});

// What can be told of a file without decoding it: that it is an image of a kind that is read, within the limits,
// and that it does not end before its last block. Errors as above.
void check_image(std::string_view bytes, const std::string& origin, const ImageLimits& limits = {});

}  // namespace hftrain::images
