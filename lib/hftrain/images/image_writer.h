// Pictures as files: what sample data are made of.
#pragma once

#include <string>

#include "hftrain/images/image.h"

namespace hftrain::images {

// The bytes of a PNG file, without loss.
std::string encode_png(const Image& image);

// The bytes of a JPEG file of `quality` 1 to 100, with colours halved in both directions.
std::string encode_jpeg(const Image& image, int quality);

}  // namespace hftrain::images
