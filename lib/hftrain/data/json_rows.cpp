// Rows of .json files: one array of records, records one after another, or one object with the records under
// `data`.
#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/data/byte_stream.h"
#include "hftrain/data/json_columns.h"
#include "hftrain/data/json_record.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

constexpr size_t kReadBytes = 1 << 18;
// The one object that holds all records may have more than a row: what simdjson can take in one value.
constexpr size_t kLargestObject = 0xFFFFFFFF - kReadBytes;
// A record is held in memory alone, not its file; only the records under `data` are read together.
class JsonRows final : public RowSource {
 public:
  JsonRows(const std::string& path, const RowOptions& options)
      : path_(path),
        longest_(options.longest_row),
        stream_(ByteStream::open(path)),
        rule_(options.columns),
        columns_(rule_) {
    while (buffer_.size() < kByteOrderMark.size() && refill()) {
    }
    if (buffer_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
    if (peek() == '[') {
      in_array_ = true;
      ++position_;
    }
  }

  bool next(Records& records) override {
    while (true) {
      if (data_) {
        if (data_next_ == data_->end()) return false;
        add_row(*data_next_, records);
        ++data_next_;
        return true;
      }
      simdjson::dom::element record;
      if (!next_record(record)) return false;
      const bool is_first = records_++ == 0;
      if (is_first && !in_array_ && holds_data(record)) continue;
      add_row(record, records);
      return true;
    }
  }

  uint64_t file_position() const override { return stream_->file_position(); }

 private:
  Error error(std::string why) const {
    return Error(ExitCode::kData, "cannot read a data file")
        .where(path_ + ':' + std::to_string(line_))
        .why(std::move(why))
        .hint(kWriteRecords);
  }

  bool refill() {
    const size_t size = stream_->read(read_.get(), kReadBytes);
    buffer_.append(read_.get(), size);
    return size > 0;
  }

  // The next character that is not white space, without taking it; 0 at the end.
  char peek() {
    while (true) {
      for (; position_ < buffer_.size(); ++position_) {
        const char c = buffer_[position_];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return c;
        if (c == '\n') ++line_;
      }
      buffer_.clear();
      position_ = 0;
      if (!refill()) return 0;
    }
  }

  bool next_record(simdjson::dom::element& record) {
    char c = peek();
    if (in_array_) {
      if (records_ > 0 && c == ',') {
        ++position_;
        c = peek();
      } else if (c == ']') {
        ++position_;
        if (peek() != 0) throw error("text follows the end of the array");
        return false;
      } else if (records_ > 0) {
        throw error(c == 0 ? "the array is not closed" : "a comma is missing between two records");
      }
    }
    if (c == 0 && in_array_) throw error("the array is not closed");
    if (c == 0) return false;
    if (!ValueScanner::can_start(c)) {
      const bool ascii = static_cast<signed char>(c) >= 0;
      throw ascii ? error(kNoRecord) : error("the file is not valid UTF-8").hint(kConvertIt);
    }
    parse_record(record);
    return true;
  }

  void parse_record(simdjson::dom::element& record) {
    ValueScanner scanner;
    size_t scanned = 0;
    while (true) {
      size_t used = 0;
      const auto state = scanner.feed(std::string_view(buffer_).substr(position_ + scanned), used);
      scanned += used;
      if (state == ValueScanner::State::kClosed) break;
      const bool may_hold_all = records_ == 0 && !in_array_;
      const size_t most = may_hold_all ? std::max(longest_, kLargestObject) : longest_;
      if (scanned > most)
        throw error(too_long("the record that starts here", most)).hint("write one record a line (.jsonl)");
      buffer_.erase(0, position_);
      position_ = 0;
      if (!refill()) throw error("the record that starts here is not closed");
    }
    buffer_.reserve(buffer_.size() + simdjson::SIMDJSON_PADDING);
    const auto failure = parse_json_value(parser_, buffer_.data() + position_, scanned, record);
    if (failure != simdjson::SUCCESS) {
      const std::string_view text = std::string_view(buffer_).substr(position_, scanned);
      const ColumnProblem problem = unreadable_record(simdjson::error_message(failure), text);
      throw error(problem.why).hint(problem.hint);
    }
    record_line_ = line_;
    const char* begin = buffer_.data() + position_;
    line_ += std::count(begin, begin + scanned, '\n');
    position_ += scanned;
  }

  // Whether the file is one object whose `data` is an array; its elements are then the records.
  bool holds_data(const simdjson::dom::element& record) {
    simdjson::dom::array records;
    if (record["data"].get_array().get(records) != simdjson::SUCCESS || peek() != 0) return false;
    data_ = records;
    data_next_ = data_->begin();
    return true;
  }

  void add_row(const simdjson::dom::element& record, Records& records) {
    const auto problem = columns_.add_row(record, path_, record_line_, records);
    if (!problem) return;
    line_ = record_line_;
    Error refused = error(problem->why);
    if (!problem->hint.empty()) refused.hint(problem->hint);
    throw refused;
  }

  std::string path_;
  size_t longest_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<char[]> read_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  std::string buffer_;  // with position_: what has been read and not yet used
  size_t position_ = 0;
  int64_t line_ = 1;
  int64_t record_line_ = 1;
  int64_t records_ = 0;
  bool in_array_ = false;
  simdjson::dom::parser parser_;
  std::optional<simdjson::dom::array> data_;
  simdjson::dom::array::iterator data_next_;
  ColumnRule rule_;
  JsonColumns columns_;
};

}  // namespace

std::unique_ptr<RowSource> open_json_rows(const std::string& path, const RowOptions& options) {
  return std::make_unique<JsonRows>(path, options);
}

}  // namespace hftrain::data
