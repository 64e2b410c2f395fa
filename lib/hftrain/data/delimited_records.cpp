#include "hftrain/data/delimited_records.h"

#include <utility>

#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

constexpr int kEnd = -1;
constexpr size_t kBufferBytes = 1 << 18;

}  // namespace

DelimitedRecords::DelimitedRecords(const std::string& path, char delimiter, size_t longest)
    : path_(path),
      delimiter_(delimiter),
      longest_(longest),
      stream_(ByteStream::open(path)),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

Error DelimitedRecords::error(std::string why) const {
  return Error(ExitCode::kData, "cannot read a data file")
      .where(path_ + ':' + std::to_string(record_line_))
      .why(std::move(why))
      .hint(kMendIt);
}

int DelimitedRecords::peek() {
  if (position_ == size_) {
    position_ = 0;
    size_ = stream_->read(buffer_.get(), kBufferBytes);
    if (size_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[position_]);
}

// Takes a line end that starts with `c`.
void DelimitedRecords::take_line_end(int c) {
  ++position_;
  if (c == '\r' && peek() == '\n') ++position_;
  ++line_;
}

std::string& DelimitedRecords::add_field() {
  if (field_count_ == kMostFields) {
    throw error("the record has more than " + with_thousands(kMostFields) + " fields").hint(kSplitIt);
  }
  if (field_count_ == fields_.size()) fields_.emplace_back();
  std::string& field = fields_[field_count_++];
  field.clear();
  return field;
}

bool DelimitedRecords::next() {
  while (true) {
    field_count_ = 0;
    record_bytes_ = 0;
    record_line_ = line_;
    if (peek() == kEnd) return false;
    bool quoted = false;
    while (read_field(add_field(), quoted)) {
    }
    const bool blank =
        field_count_ == 1 && !quoted && fields_[0].find_first_not_of(" \t") == std::string::npos;
    if (!blank) return true;
  }
}

// Reads one field and what ends it; true when a delimiter did.
bool DelimitedRecords::read_field(std::string& field, bool& quoted) {
  if (peek() == '"') {
    quoted = true;
    ++position_;
    read_quoted(field);
  }
  while (true) {
    const int c = peek();
    if (c == kEnd) return false;
    if (c == '\n' || c == '\r') {
      take_line_end(c);
      return false;
    }
    ++position_;
    if (c == delimiter_) return true;
    add(field, c);
  }
}

// The part of a field after its opening quote, up to the closing one.
void DelimitedRecords::read_quoted(std::string& field) {
  while (true) {
    const int c = peek();
    if (c == kEnd)
      throw error("a quoted field is not closed")
          .hint("end it with a quotation mark; one within a field is written twice");
    ++position_;
    if (c == '"') {
      if (peek() != '"') return;
      ++position_;
    } else if (c == '\n') {
      ++line_;
    }
    add(field, c);
  }
}

// Fields are reused from record to record: what they hold at most is bounded by this.
void DelimitedRecords::add(std::string& field, int c) {
  if (++record_bytes_ > longest_) throw error(too_long("the record", longest_)).hint(kSplitIt);
  field += static_cast<char>(c);
}

}  // namespace hftrain::data
