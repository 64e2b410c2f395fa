#include "hftrain/data/line_reader.h"

#include <simdjson.h>

#include <cstring>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

constexpr size_t kLineBufferBytes = 1 << 20;

}  // namespace

LineReader::LineReader(const std::string& path, Newlines newlines, size_t longest)
    : path_(path),
      newlines_(newlines),
      longest_(longest),
      stream_(ByteStream::open(path)),
      buffer_(std::make_unique_for_overwrite<char[]>(kLineBufferBytes)) {}

bool LineReader::refill() {
  begin_ = 0;
  newline_ = kUnknown;
  end_ = stream_->read(buffer_.get(), kLineBufferBytes);
  return end_ > 0;
}

// Looked for once, not again for every line that ends in "\r" before it.
size_t LineReader::next_newline() {
  if (newline_ >= begin_ && newline_ <= end_) return newline_;
  const char* start = buffer_.get() + begin_;
  const void* found = std::memchr(start, '\n', end_ - begin_);
  newline_ = found == nullptr ? end_ : static_cast<size_t>(static_cast<const char*>(found) - buffer_.get());
  return newline_;
}

LineReader::Ending LineReader::next(std::string& line) {
  bool found_any = false;
  const size_t before = line.size();
  while (true) {
    if (begin_ == end_ && !refill()) {
      if (found_any) ++line_number_;
      return found_any ? Ending::kEndOfFile : Ending::kNothingLeft;
    }
    if (after_return_) {
      after_return_ = false;
      if (buffer_[begin_] == '\n') {
        ++begin_;
        continue;
      }
    }
    const char* start = buffer_.get() + begin_;
    const size_t newline = next_newline();
    size_t length = newline - begin_;
    const void* other = newlines_ == Newlines::kUniversal ? std::memchr(start, '\r', length) : nullptr;
    if (other != nullptr) {
      length = static_cast<size_t>(static_cast<const char*>(other) - start);
      after_return_ = true;
    }
    if (line.size() - before + length > longest_) {
      ++line_number_;
      throw error(too_long("the line", longest_)).hint(kSplitIt);
    }
    line.append(start, length);
    found_any = true;
    begin_ += length;
    if (newline == end_ && other == nullptr) continue;
    ++begin_;
    ++line_number_;
    return Ending::kNewline;
  }
}

Error LineReader::error(std::string why) const {
  return Error(ExitCode::kData, "cannot read a data file")
      .where(path_ + ':' + std::to_string(line_number_))
      .why(std::move(why))
      .hint(kMendIt);
}

std::string too_long(const char* what, size_t longest) {
  return std::string(what) + " is longer than " + format_bytes(longest);
}

void require_utf8(std::string_view text, const LineReader& reader) {
  if (simdjson::validate_utf8(text.data(), text.size())) return;
  throw reader.error("the line is not valid UTF-8").hint(kConvertIt);
}

}  // namespace hftrain::data
