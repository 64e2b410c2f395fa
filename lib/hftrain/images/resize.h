// Resizing with PIL's bilinear filter: a triangle that widens with the scale, so that what is made smaller is averaged
// (antialiasing).
#pragma once

#include "hftrain/images/image.h"

namespace hftrain::images {

// PIL's Image.resize(…, BILINEAR): weights in double, then whole numbers of 22 bits behind the point; rows first, rounded
// to bytes in between. Pillow 13.0 takes columns first for many pictures that become lower; there bytes differ by 1 at
// most, else they are the same. Sizes are 1 or more.
Image resize_bilinear(const Image& image, int64_t width, int64_t height);

}  // namespace hftrain::images
