// Resizing with PIL's bilinear filter: a triangle that widens with the scale, so that what is made smaller is averaged
// (antialiasing).
#pragma once

#include "hftrain/images/image.h"

namespace hftrain::images {

// PIL's Image.resize(…, BILINEAR), bit for bit: weights in double, then whole numbers of 22 bits behind the point; rows
// first, rounded to bytes in between. Sizes are 1 or more.
Image resize_bilinear(const Image& image, int64_t width, int64_t height);

}  // namespace hftrain::images
