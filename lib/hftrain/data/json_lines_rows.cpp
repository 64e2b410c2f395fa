// Rows of .jsonl files: one record a line, as a rule.
#include <simdjson.h>

#include "hftrain/base/error.h"
#include "hftrain/data/byte_stream.h"
#include "hftrain/data/json_columns.h"
#include "hftrain/data/json_record.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

class JsonLinesRows final : public RowSource {
 public:
  JsonLinesRows(const std::string& path, const RowOptions& options)
      : path_(path),
        lines_(path, LineReader::Newlines::kUnix, options.longest_row),
        rule_(options.columns),
        columns_(rule_) {}

  bool next(Records& records) override {
    if (!skip_to_record()) return false;
    const std::string_view rest = std::string_view(line_).substr(position_);
    if (!ValueScanner::can_start(rest.front())) {
      require_utf8(std::string_view(line_).substr(0, length_), lines_);
      throw lines_.error(kNoRecord).hint(kWriteRecords);
    }
    ValueScanner scanner;
    size_t used = 0;
    if (scanner.feed(rest, used) == ValueScanner::State::kOpen) {
      throw lines_.error("the record does not end on its line").hint("put every record on a line of its own");
    }
    simdjson::dom::element record;
    // DOM parsing reads a little past the value; the line is padded for that.
    const auto error = parse_json_value(parser_, line_.data() + position_, used, record);
    if (error != simdjson::SUCCESS) {
      const ColumnProblem problem = unreadable_record(simdjson::error_message(error), rest.substr(0, used));
      throw lines_.error(problem.why).hint(problem.hint);
    }
    position_ += used;
    const auto problem = columns_.add_row(record, path_, lines_.line_number(), records);
    if (problem) throw lines_.error(problem->why).hint(problem->hint.empty() ? kWriteRecords : problem->hint);
    return true;
  }

  uint64_t file_position() const override { return lines_.file_position(); }

 private:
  // False at the end of the file. Blank lines are skipped; several records on a line are allowed.
  bool skip_to_record() {
    while (true) {
      position_ = std::string_view(line_).substr(0, length_).find_first_not_of(kSpace, position_);
      if (position_ < length_) return true;
      line_.clear();
      if (lines_.next(line_) == LineReader::Ending::kNothingLeft) return false;
      length_ = line_.size();
      position_ = lines_.line_number() == 1 && line_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
      line_.append(simdjson::SIMDJSON_PADDING, ' ');
    }
  }

  std::string path_;
  LineReader lines_;
  ColumnRule rule_;
  std::string line_;  // with padding
  size_t length_ = 0;
  size_t position_ = 0;
  simdjson::dom::parser parser_;
  JsonColumns columns_;
};

}  // namespace

std::unique_ptr<RowSource> open_json_lines_rows(const std::string& path, const RowOptions& options) {
  return std::make_unique<JsonLinesRows>(path, options);
}

}  // namespace hftrain::data
