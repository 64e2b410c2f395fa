#include "hftrain/images/image_reader.h"

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/images/formats.h"

namespace hftrain::images {
namespace {

// What a file is when it is none that is read, as far as its first bytes show it.
std::string kind_of(std::string_view bytes) {
  if (bytes.empty()) return "it has 0 bytes";
  if (bytes.starts_with("GIF8")) return "it is a GIF";
  if (bytes.starts_with("BM")) return "it is a BMP";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "it is a WebP";
  if (bytes.starts_with("II*") || bytes.starts_with("MM")) return "it is a TIFF";
  return "it begins like neither a PNG nor a JPEG";
}

bool is_png(std::string_view bytes, const std::string& origin) {
  if (bytes.starts_with(kPngSignature)) return true;
  if (bytes.starts_with(kJpegSignature)) return false;
  throw unreadable(origin, kind_of(bytes));
}

}  // namespace

Error unreadable(const std::string& origin, const std::string& why) {
  return Error(ExitCode::kData, "an image cannot be read")
      .where(origin)
      .why(why)
      .hint("replace the file by a whole PNG or JPEG, or take it out of the folder");
}

void check_size(uint64_t width, uint64_t height, const std::string& origin, const ImageLimits& limits) {
  const auto most = static_cast<uint64_t>(limits.pixels);
  if (width > 0 && height > 0 && width <= most / height) return;
  const std::string size = with_thousands(static_cast<int64_t>(width)) + " by " +
                           with_thousands(static_cast<int64_t>(height)) + " pixels";
  if (width == 0 || height == 0) throw unreadable(origin, "it is " + size);
  throw unreadable(origin,
                   "it is " + size + ", more than the " + with_thousands(limits.pixels) + " that are read");
}

Image decode_image(std::string_view bytes, const std::string& origin, const ImageLimits& limits) {
  return is_png(bytes, origin) ? decode_png(bytes, origin, limits) : decode_jpeg(bytes, origin, limits);
}

Image read_image(const std::string& path, const ImageLimits& limits) {
  return decode_image(read_file(path), path, limits);
}

void check_image(std::string_view bytes, const std::string& origin, const ImageLimits& limits) {
  if (is_png(bytes, origin)) {
    check_png(bytes, origin, limits);
  } else {
    check_jpeg(bytes, origin, limits);
  }
}

}  // namespace hftrain::images
