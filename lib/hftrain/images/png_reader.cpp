#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <optional>
#include <vector>

#include "hftrain/images/exif.h"
#include "hftrain/images/formats.h"

namespace hftrain::images {
namespace {

constexpr uint64_t kMostInflation = 1032;  // of deflate: no file swells more
constexpr size_t kFirstChunk = 8, kChunkFrame = 12;

uint32_t big_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct Chunk {
  std::string_view name, content;
  bool whole = true;  // the file does not end within it
};

// The chunk at `at`, which moves behind it; nothing where not even its name is there.
std::optional<Chunk> next_chunk(std::string_view bytes, size_t& at) {
  if (at > bytes.size() || bytes.size() - at < 8) return std::nullopt;
  const size_t size = big_endian(bytes, at), left = bytes.size() - at - 8;
  Chunk chunk{bytes.substr(at + 4, 4), bytes.substr(at + 8, size), size + 4 <= left};
  at = chunk.whole ? at + kChunkFrame + size : bytes.size();
  return chunk;
}

// Of a whole chunk that libpng refuses when it is damaged: its name is one, and the checksum behind it right.
bool intact(const Chunk& chunk) {
  constexpr char kAncillary = 0x20;
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  if (!std::all_of(chunk.name.begin(), chunk.name.end(), letter)) return false;
  if ((chunk.name[0] & kAncillary) != 0) return true;
  const auto* begin = reinterpret_cast<const Bytef*>(chunk.name.data());
  const size_t size = chunk.name.size() + chunk.content.size();
  return ::crc32_z(0, begin, size) == big_endian({chunk.name.data(), size + 4}, size);
}

// A name of a chunk for messages.
std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name) text += c > ' ' && c < 127 ? c : '?';
  return text;
}

// What libpng asks its owner for. No C++ object with a destructor lives in the function that it jumps back to.
struct PngInput {
  std::string_view bytes;
  size_t at = 0;
  std::string problem;
};

void read_bytes(png_structp png, png_bytep target, size_t size) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (size > input->bytes.size() - input->at) png_error(png, "it ends too early");
  std::memcpy(target, input->bytes.data() + input->at, size);
  input->at += size;
}

[[noreturn]] void remember(png_structp png, png_const_charp text) {
  static_cast<PngInput*>(png_get_error_ptr(png))->problem = text;
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

// One libpng reader. What its steps fill are members, which outlive its jumps.
class PngReader {
 public:
  PngReader(std::string_view bytes, std::string origin, const ImageLimits& limits)
      : origin_(std::move(origin)), limits_(limits) {
    input_.bytes = bytes;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, remember, ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr)
      throw Error(ExitCode::kHostMemory, "libpng cannot be started")
          .where(origin_)
          .why("there is no memory for its two records")
          .hint("a smaller --dataloader_num_workers, or fewer ranks on this machine");
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Image read() {
    if (!guarded(&PngReader::read_header)) throw broken();
    make_room();
    if (!guarded(&PngReader::read_rows)) throw broken();
    return rgb_image();
  }

 private:
  // False when libpng jumped out of `step`.
  bool guarded(void (PngReader::*step)()) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    (this->*step)();
    return true;
  }

  Error broken() const { return unreadable(origin_, "its PNG data are damaged: " + input_.problem); }

  void read_header() {
    png_set_read_fn(png_, &input_, read_bytes);
    png_set_crc_action(png_, PNG_CRC_DEFAULT, PNG_CRC_WARN_DISCARD);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_check_for_invalid_index(png_, 0);
    png_read_info(png_, info_);
    png_get_IHDR(png_, info_, &width_, &height_, &bits_, &colour_, nullptr, nullptr, nullptr);
    const bool plain_grey = colour_ == PNG_COLOR_TYPE_GRAY;
    if (plain_grey && bits_ < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (bits_ < 8) png_set_packing(png_);
    if (!plain_grey) png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
    png_colorp colours = nullptr;
    if (png_get_PLTE(png_, info_, &colours, &colours_) != 0) std::copy(colours, colours + colours_, palette_);
  }

  void make_room() {
    check_size(width_, height_, origin_, limits_);
    const uint64_t numbers = uint64_t{row_bytes_} * height_;
    const auto bits = static_cast<uint64_t>(std::min(bits_, 8));  // of a number, before it is unpacked
    if (numbers * bits / 8 / kMostInflation > input_.bytes.size())
      throw unreadable(origin_, "it is too short for its " + std::to_string(width_) + " by " +
                                    std::to_string(height_) + " pixels");
    samples_.resize(numbers);
  }

  void read_rows() {
    for (int pass = 0; pass < passes_; ++pass) {
      for (size_t row = 0; row < height_; ++row)
        png_read_row(png_, samples_.data() + row * row_bytes_, nullptr);
    }
  }

  Image rgb_image() {
    Image image{.width = width_, .height = height_};
    if (colour_ != PNG_COLOR_TYPE_PALETTE && (colour_ & PNG_COLOR_MASK_COLOR) != 0) {
      image.rgb = std::move(samples_);
      return image;
    }
    const bool deep = colour_ == PNG_COLOR_TYPE_GRAY && bits_ == 16;
    image.rgb.resize(size_t{width_} * height_ * 3);
    uint8_t* out = image.rgb.data();
    for (size_t at = 0; at < samples_.size(); at += deep ? 2 : 1, out += 3) {
      const png_color colour = deep ? deep_grey(&samples_[at]) : colour_of(samples_[at]);
      out[0] = colour.red, out[1] = colour.green, out[2] = colour.blue;
    }
    return image;
  }

  // PIL keeps 16 bits of grey, and cuts what is too bright when it makes colours of them.
  static png_color deep_grey(const uint8_t* sample) {
    const uint8_t grey = sample[0] != 0 ? 255 : sample[1];
    return {grey, grey, grey};
  }

  png_color colour_of(uint8_t sample) const {
    if (colour_ != PNG_COLOR_TYPE_PALETTE) return {sample, sample, sample};
    return sample < colours_ ? palette_[sample] : png_color{};
  }

  std::string origin_;
  ImageLimits limits_;
  PngInput input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  png_uint_32 width_ = 0, height_ = 0;
  int bits_ = 0, colour_ = 0, colours_ = 0, passes_ = 1;
  size_t row_bytes_ = 0;
  png_color palette_[PNG_MAX_PALETTE_LENGTH] = {};
  std::vector<uint8_t> samples_;
};

constexpr std::string_view kNotesAsText{"Raw profile type exif\0", 22};

bool holds_notes_as_text(const Chunk& chunk) {
  return (chunk.name == "tEXt" || chunk.name == "zTXt") && chunk.content.starts_with(kNotesAsText);
}

// Of one that is packed as far as PIL unpacks it; empty: it is longer, or damaged.
std::string text_of(const Chunk& chunk) {
  constexpr uLongf kMost = 1 << 20;
  const std::string_view rest = chunk.content.substr(kNotesAsText.size());
  if (chunk.name == "tEXt") return std::string(rest);
  if (!rest.starts_with('\0')) return "";
  std::string text(std::min<uint64_t>(kMost, rest.size() * kMostInflation), ' ');
  uLongf size = text.size();
  const int result = ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                                  reinterpret_cast<const Bytef*>(rest.data() + 1), rest.size() - 1);
  text.resize(result == Z_OK ? size : 0);
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// What ImageMagick writes of notes in a text: its kind and its size in lines of their own, and hexadecimal digits.
std::string bytes_of_profile(const std::string& text) {
  size_t at = 0;
  for (int line = 0; line < 3; ++line) {
    at = text.find('\n', at);
    if (at == std::string::npos) return "";
    ++at;
  }
  std::string bytes;
  int high = -1;
  for (; at < text.size(); ++at) {
    const int digit = digit_of(text[at]);
    if (digit < 0) continue;
    if (high >= 0) bytes += static_cast<char>(high * 16 + digit);
    high = high < 0 ? digit : -1;
  }
  return bytes;
}

// A chunk of notes counts before such a text.
int orientation_of_png(std::string_view bytes) {
  // PIL takes the notes with the heading that JPEG files give them, too.
  constexpr std::string_view kHeading{"Exif\0\0", 6};
  std::string notes;
  std::optional<Chunk> as_text;  // the last one
  size_t at = kFirstChunk;
  while (const auto chunk = next_chunk(bytes, at)) {
    if (chunk->name == "eXIf") {
      notes = chunk->content;
      break;
    }
    if (holds_notes_as_text(*chunk)) as_text = chunk;
  }
  if (notes.empty() && as_text) notes = bytes_of_profile(text_of(*as_text));
  const std::string_view tiff = notes;
  return orientation_of(tiff.starts_with(kHeading) ? tiff.substr(kHeading.size()) : tiff);
}

}  // namespace

Image decode_png(std::string_view bytes, const std::string& origin, const ImageLimits& limits) {
  return upright(PngReader(bytes, origin, limits).read(), orientation_of_png(bytes));
}

void check_png(std::string_view bytes, const std::string& origin, const ImageLimits& limits) {
  size_t at = kFirstChunk;
  const auto header = next_chunk(bytes, at);
  if (!header || !header->whole || header->name != "IHDR" || header->content.size() < 8)
    throw unreadable(origin, "its PNG data have no header");
  if (!intact(*header)) throw unreadable(origin, "its header is damaged");
  check_size(big_endian(header->content, 0), big_endian(header->content, 4), origin, limits);
  bool pixels = false;
  while (const auto chunk = next_chunk(bytes, at)) {
    if (!chunk->whole)
      throw unreadable(origin, "it ends too early, within a chunk " + printable(chunk->name));
    if (!intact(*chunk)) throw unreadable(origin, "its chunk " + printable(chunk->name) + " is damaged");
    if (chunk->name == "IDAT") pixels = true;
    if (chunk->name == "IEND") break;
  }
  if (!pixels) throw unreadable(origin, "it ends too early, before its pixels");
}

}  // namespace hftrain::images
