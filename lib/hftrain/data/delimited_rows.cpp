// Rows of .csv and .tsv files: RFC 4180 with a header row.
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/byte_stream.h"
#include "hftrain/data/column_choice.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

constexpr int kEnd = -1;
constexpr size_t kBufferBytes = 1 << 18;
constexpr const char* kQuoteIt =
    "every record has a field for each column; one that holds the delimiter stands in quotes";

// Quoted fields may hold delimiters, line ends and doubled quotes. Line ends are "\n", "\r\n" or "\r". Lines
// of nothing but white space are skipped between records.
class DelimitedRows final : public RowSource {
 public:
  DelimitedRows(const std::string& path, char delimiter, const RowOptions& options)
      : path_(path),
        delimiter_(delimiter),
        longest_(options.longest_row),
        stream_(ByteStream::open(path)),
        buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
    if (!read_record()) throw error("the file is empty").hint("the first line names the columns");
    if (fields_.front().starts_with(kByteOrderMark)) fields_.front().erase(0, kByteOrderMark.size());
    columns_ = field_count_;
    choose(options.columns);
  }

  bool next(Records& records) override {
    if (!read_record()) return false;
    if (field_count_ > columns_) {
      throw error("the record has " + std::to_string(field_count_) + " fields, the header " +
                  std::to_string(columns_))
          .hint(kQuoteIt);
    }
    records.begin_row(path_, record_line_);
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (!chosen_[i].name.empty()) set_cell(records, i);
    }
    return true;
  }

  uint64_t file_position() const override { return stream_->file_position(); }

 private:
  struct Column {
    std::string name;  // empty: not in this file
    size_t place = 0;
    bool typed = false;
  };

  void set_cell(Records& records, size_t column) const {
    const std::string& cell = field(chosen_[column]);
    const char *begin = cell.data(), *end = begin + cell.size();
    int64_t integer = 0;
    double number = 0;
    const auto whole = [&](const std::from_chars_result& read) {
      return read.ec == std::errc() && read.ptr == end;
    };
    if (chosen_[column].typed && whole(std::from_chars(begin, end, integer))) {
      records.set_integer(records.slot(column), integer);
    } else if (chosen_[column].typed && whole(std::from_chars(begin, end, number)) && std::isfinite(number)) {
      records.set_number(records.slot(column), number);
    } else {
      records.set_text(records.slot(column), cell);
    }
  }

  void choose(const ColumnRule& rule) {
    const auto end = fields_.begin() + static_cast<std::ptrdiff_t>(columns_);
    const std::vector<std::string> names(fields_.begin(), end);
    if (!std::all_of(names.begin(), names.end(),
                     [](const std::string& name) { return simdjson::validate_utf8(name); }))
      throw error("the names of the columns are not valid UTF-8").hint(kConvertIt);
    for (const std::string& name : chosen_columns(rule, names, path_ + ':' + std::to_string(record_line_))) {
      const auto place = std::find(names.begin(), names.end(), name);
      if (place != names.end() && std::find(place + 1, names.end(), name) != names.end())
        throw error("two columns are called '" + name + "'").hint("give every column a name of its own");
      chosen_.push_back({name, static_cast<size_t>(place - names.begin())});
    }
    for (const size_t column : rule.typed_cells) chosen_[column].typed = true;
  }

  const std::string& field(const Column& column) const {
    if (column.place >= field_count_)
      throw error("the record ends before its column '" + column.name + "'").hint(kQuoteIt);
    const std::string& field = fields_[column.place];
    if (!simdjson::validate_utf8(field))
      throw error("the column '" + column.name + "' is not valid UTF-8").hint(kConvertIt);
    return field;
  }

  Error error(std::string why) const {
    return Error(ExitCode::kData, "cannot read a data file")
        .where(path_ + ':' + std::to_string(record_line_))
        .why(std::move(why))
        .hint(kMendIt);
  }

  int peek() {
    if (position_ == size_) {
      position_ = 0;
      size_ = stream_->read(buffer_.get(), kBufferBytes);
      if (size_ == 0) return kEnd;
    }
    return static_cast<unsigned char>(buffer_[position_]);
  }

  // Takes a line end that starts with `c`.
  void take_line_end(int c) {
    ++position_;
    if (c == '\r' && peek() == '\n') ++position_;
    ++line_;
  }

  std::string& add_field() {
    if (field_count_ == kMostFields) {
      throw error("the record has more than " + with_thousands(kMostFields) + " fields").hint(kSplitIt);
    }
    if (field_count_ == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[field_count_++];
    field.clear();
    return field;
  }

  // Reads the next record that is not a blank line into fields_[0 .. field_count_).
  bool read_record() {
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
  bool read_field(std::string& field, bool& quoted) {
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
  void read_quoted(std::string& field) {
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
  void add(std::string& field, int c) {
    if (++record_bytes_ > longest_) throw error(too_long("the record", longest_)).hint(kSplitIt);
    field += static_cast<char>(c);
  }

  std::string path_;
  char delimiter_;
  size_t longest_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<char[]> buffer_;
  size_t position_ = 0;
  size_t size_ = 0;
  int64_t line_ = 1;
  int64_t record_line_ = 1;
  std::vector<std::string> fields_;  // reused from record to record
  size_t field_count_ = 0;
  size_t record_bytes_ = 0;
  size_t columns_ = 0;
  std::vector<Column> chosen_;
};

}  // namespace

std::unique_ptr<RowSource> open_delimited_rows(const std::string& path, char delimiter,
                                               const RowOptions& options) {
  return std::make_unique<DelimitedRows>(path, delimiter, options);
}

}  // namespace hftrain::data
