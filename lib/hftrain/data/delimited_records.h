// Records of .csv and .tsv files as RFC 4180 has them: fields between delimiters, quoted ones with anything in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/data/byte_stream.h"

namespace hftrain::data {

inline constexpr const char* kQuoteIt =
    "every record has a field for each column; one that holds the delimiter stands in quotes";

// Quoted fields may hold delimiters, line ends and doubled quotes. Line ends are "\n", "\r\n" or "\r". Lines
// of nothing but white space are skipped between records. Used by one thread.
class DelimitedRecords {
 public:
  // Records of more than `longest` bytes are an Error (exit code 4), as is whatever else is wrong with the file.
  DelimitedRecords(const std::string& path, char delimiter, size_t longest);

  // Reads the next record that is not a blank line; false at the end.
  bool next();
  // Of the record that was read last: how many fields it has, each of them, and the line on which it begins.
  size_t size() const { return field_count_; }
  const std::string& operator[](size_t field) const { return fields_[field]; }
  int64_t line() const { return record_line_; }

  uint64_t file_position() const { return stream_->file_position(); }
  // An Error of the record that was read last.
  Error error(std::string why) const;

 private:
  int peek();
  void take_line_end(int c);
  std::string& add_field();
  bool read_field(std::string& field, bool& quoted);
  void read_quoted(std::string& field);
  void add(std::string& field, int c);

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
};

}  // namespace hftrain::data
