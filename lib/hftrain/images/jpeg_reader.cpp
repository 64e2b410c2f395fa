#include <algorithm>
#include <csetjmp>
#include <cstdio>
// jpeglib.h needs what cstdio declares.
#include <jpeglib.h>

#include <optional>
#include <vector>

#include "hftrain/images/exif.h"
#include "hftrain/images/formats.h"

namespace hftrain::images {
namespace {

// The first member is what libjpeg knows.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char problem[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_back(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->base.format_message(jpeg, errors->problem);
  std::longjmp(errors->back, 1);
}

// Libjpeg would make up an end, and grey for what is missing.
boolean no_more_bytes(j_decompress_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  std::snprintf(errors->problem, sizeof(errors->problem), "it ends too early");
  std::longjmp(errors->back, 1);
}

void skip_bytes(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > jpeg->src->bytes_in_buffer) no_more_bytes(jpeg);
  jpeg->src->next_input_byte += count;
  jpeg->src->bytes_in_buffer -= static_cast<size_t>(count);
}

// x·y/255, rounded as PIL rounds it.
uint8_t product(int x, int y) {
  const int sum = x * y + 128;
  return static_cast<uint8_t>(((sum >> 8) + sum) >> 8);
}

// One libjpeg reader. What its steps fill are members, which outlive its jumps.
class JpegReader {
 public:
  JpegReader(std::string_view bytes, std::string origin, const ImageLimits& limits)
      : origin_(std::move(origin)), limits_(limits), size_(bytes.size()) {
    jpeg_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = jump_back;
    errors_.base.emit_message = [](j_common_ptr, int) {};
    errors_.base.output_message = [](j_common_ptr) {};
    source_ = {reinterpret_cast<const JOCTET*>(bytes.data()),
               bytes.size(),
               [](j_decompress_ptr) {},
               no_more_bytes,
               skip_bytes,
               jpeg_resync_to_restart,
               [](j_decompress_ptr) {}};
    if (!guarded(&JpegReader::create)) throw broken();
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  void read_header() {
    if (!guarded(&JpegReader::header)) throw broken();
    check_size(jpeg_.image_width, jpeg_.image_height, origin_, limits_);
    // Every block of 8 by 8 begins with a code of one bit or more.
    constexpr uint64_t kMostPixelsPerByte = 64 * 8;
    const uint64_t pixels = uint64_t{jpeg_.image_width} * jpeg_.image_height;
    if (jpeg_.arith_code == FALSE && pixels / kMostPixelsPerByte > size_)
      throw unreadable(origin_, "it is too short for its " + std::to_string(jpeg_.image_width) + " by " +
                                    std::to_string(jpeg_.image_height) + " pixels");
    const int parts = jpeg_.num_components;
    if (parts != 1 && parts != 3 && parts != 4)
      throw unreadable(origin_, "its JPEG data have " + std::to_string(parts) + " components");
  }

  // Up to the first scan.
  size_t header_bytes() const { return size_ - source_.bytes_in_buffer; }

  Image read() {
    read_header();
    jpeg_.out_color_space = jpeg_.num_components == 1   ? JCS_GRAYSCALE
                            : jpeg_.num_components == 3 ? JCS_RGB
                                                        : JCS_CMYK;
    if (!guarded(&JpegReader::start)) throw broken();
    row_.resize(size_t{jpeg_.output_width} * static_cast<size_t>(jpeg_.output_components));
    image_.width = jpeg_.output_width;
    image_.height = jpeg_.output_height;
    while (jpeg_.output_scanline < jpeg_.output_height) {
      if (!guarded(&JpegReader::scan_line)) throw broken();
      add_row();
    }
    return std::move(image_);
  }

  // Of the EXIF block; 1 where there is none.
  int orientation() const {
    constexpr std::string_view kHeading{"Exif\0\0", 6};
    for (auto* marker = jpeg_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view content(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (content.starts_with(kHeading)) return orientation_of(content.substr(kHeading.size()));
    }
    return 1;
  }

 private:
  // False when libjpeg jumped out of `step`.
  bool guarded(void (JpegReader::*step)()) {
    if (setjmp(errors_.back) != 0) return false;
    (this->*step)();
    return true;
  }

  Error broken() const {
    const std::string problem = errors_.problem;
    return unreadable(origin_,
                      problem == "it ends too early" ? problem : "its JPEG data are damaged: " + problem);
  }

  void create() {
    jpeg_create_decompress(&jpeg_);
    jpeg_.src = &source_;
    constexpr int kExif = JPEG_APP0 + 1, kWholeBlock = 0xffff;
    jpeg_save_markers(&jpeg_, kExif, kWholeBlock);
  }
  void header() { jpeg_read_header(&jpeg_, TRUE); }
  void start() { jpeg_start_decompress(&jpeg_); }
  void scan_line() {
    JSAMPROW row = row_.data();
    jpeg_read_scanlines(&jpeg_, &row, 1);
  }

  void add_row() {
    // Grown with what is decoded, so that a short file with large numbers in its header takes little.
    const size_t begin = image_.rgb.size();
    image_.rgb.resize(begin + size_t{jpeg_.output_width} * 3);
    uint8_t* out = image_.rgb.data() + begin;
    const auto parts = static_cast<size_t>(jpeg_.output_components);
    if (parts == 3) {
      std::copy(row_.begin(), row_.end(), out);
      return;
    }
    for (const uint8_t* pixel = row_.data(); pixel != row_.data() + row_.size(); pixel += parts, out += 3) {
      if (parts == 1) {
        std::fill(out, out + 3, *pixel);
        continue;
      }
      // Stored inverted: 255 is no ink.
      const int light = pixel[3];
      for (size_t channel = 0; channel < 3; ++channel)
        out[channel] = static_cast<uint8_t>(std::max(0, light - product(255 - pixel[channel], light)));
    }
  }

  std::string origin_;
  ImageLimits limits_;
  size_t size_;  // of the file
  JpegErrors errors_{};
  jpeg_source_mgr source_{};
  jpeg_decompress_struct jpeg_{};
  std::vector<uint8_t> row_;
  Image image_;
};

}  // namespace

Image decode_jpeg(std::string_view bytes, const std::string& origin, const ImageLimits& limits) {
  JpegReader reader(bytes, origin, limits);
  Image image = reader.read();
  return upright(std::move(image), reader.orientation());
}

void check_jpeg(std::string_view bytes, const std::string& origin, const ImageLimits& limits) {
  JpegReader reader(bytes, origin, limits);
  reader.read_header();
  // Thumbnails have ends of their own, but all lie in the header.
  const size_t end = bytes.rfind(std::string_view("\xff\xd9", 2));
  if (end == std::string_view::npos || end < reader.header_bytes()) decode_jpeg(bytes, origin, limits);
}

}  // namespace hftrain::images
