// Lines of a byte stream, with their numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "hftrain/data/byte_stream.h"

namespace hftrain {
class Error;
}

namespace hftrain::data {

// Used by one thread.
class LineReader {
 public:
  enum class Newlines {
    kUniversal,  // "\n", "\r\n" and "\r" end a line, as in Python's text files
    kUnix,       // only "\n" does
  };
  enum class Ending { kNewline, kEndOfFile, kNothingLeft };

  // Lines of more than `longest` bytes are an error.
  LineReader(const std::string& path, Newlines newlines, size_t longest);

  // Appends the next line without its line end to `line`. kEndOfFile: it was the last line and no newline
  // follows.
  Ending next(std::string& line);

  // The number of the line that next() gave last, from 1, and an error that starts with "path:number".
  int64_t line_number() const { return line_number_; }
  Error error(std::string why) const;
  uint64_t file_position() const { return stream_->file_position(); }

 private:
  static constexpr size_t kUnknown = std::numeric_limits<size_t>::max();

  bool refill();
  size_t next_newline();

  std::string path_;
  Newlines newlines_;
  size_t longest_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<char[]>
      buffer_;  // not filled with zeros first, which takes longer than to read a short file
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t newline_ = kUnknown;  // where the buffer's next "\n" is, or end_; unknown when behind begin_
  bool after_return_ = false;  // a "\n" that comes first belongs to the line end before it
  int64_t line_number_ = 0;
};

// Why a row is refused, and what to do: "the line is longer than 1.0 GiB".
std::string too_long(const char* what, size_t longest);
inline constexpr const char* kSplitIt = "see whether the file is of that kind; split what is so long";
inline constexpr const char* kMendIt = "mend the file there, or leave it out";
inline constexpr const char* kConvertIt = "convert the file to UTF-8, for example with iconv";

// Throws `reader`'s error when `text` is not UTF-8.
void require_utf8(std::string_view text, const LineReader& reader);

}  // namespace hftrain::data
