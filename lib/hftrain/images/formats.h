// The two readers behind image_reader.h.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/images/image_reader.h"

namespace hftrain::images {

inline constexpr std::string_view kPngSignature{"\x89PNG\r\n\x1a\n", 8};
inline constexpr std::string_view kJpegSignature{"\xff\xd8\xff", 3};

Error unreadable(const std::string& origin, const std::string& why);
// Throws when the size is none that is read.
void check_size(uint64_t width, uint64_t height, const std::string& origin, const ImageLimits& limits);

Image decode_png(std::string_view bytes, const std::string& origin, const ImageLimits& limits);
Image decode_jpeg(std::string_view bytes, const std::string& origin, const ImageLimits& limits);
// By its chunks and by its markers: whether the last one is there.
void check_png(std::string_view bytes, const std::string& origin, const ImageLimits& limits);
void check_jpeg(std::string_view bytes, const std::string& origin, const ImageLimits& limits);

}  // namespace hftrain::images
