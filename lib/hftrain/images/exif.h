// The orientation in a camera's notes.
#pragma once

#include <string_view>

#include "hftrain/images/image.h"

namespace hftrain::images {

// How the picture lies, 1 to 8 as tag 0x0112 of the first directory of a TIFF block ("II*\0" or "MM\0*") says; 1 when
// it does not say, or the block is damaged.
int orientation_of(std::string_view tiff);

// The picture upright; `orientation` as above.
Image upright(Image image, int orientation);

}  // namespace hftrain::images
