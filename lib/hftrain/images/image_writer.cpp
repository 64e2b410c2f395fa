#include "hftrain/images/image_writer.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs what cstdio declares.
#include <jpeglib.h>

#include "hftrain/base/error.h"

namespace hftrain::images {
namespace {

Error cannot_write(const char* kind, const std::string& why) {
  return Error(ExitCode::kInternal, std::string("an image cannot be written as ") + kind).why(why);
}

// The first member is what libjpeg knows.
struct WriteErrors {
  jpeg_error_mgr base;
  std::jmp_buf back;
};

[[noreturn]] void leave(j_common_ptr jpeg) {
  std::longjmp(reinterpret_cast<WriteErrors*>(jpeg->err)->back, 1);
}

// What libjpeg allocates and its owner frees.
struct JpegBytes {
  unsigned char* data = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's
  JpegBytes() = default;
  JpegBytes(const JpegBytes&) = delete;
  JpegBytes& operator=(const JpegBytes&) = delete;
  ~JpegBytes() { std::free(data); }  // NOLINT(cppcoreguidelines-no-malloc)
};

// False when libjpeg jumped out. Nothing here has a destructor.
bool compress(const Image& image, int quality, JpegBytes& bytes) {
  WriteErrors errors{};
  jpeg_compress_struct jpeg{};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_compress(&jpeg);
    return false;
  }
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &bytes.data, &bytes.size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPLE*>(image.pixel(jpeg.next_scanline, 0));  // libjpeg only reads it
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  return true;
}

}  // namespace

std::string encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.rgb.data(), 0, nullptr) == 0)
    throw cannot_write("PNG", header.message);
  bytes.resize(size);
  return bytes;
}

std::string encode_jpeg(const Image& image, int quality) {
  JpegBytes bytes;
  if (!compress(image, quality, bytes)) throw cannot_write("JPEG", "libjpeg refuses it");
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

}  // namespace hftrain::images
