#include "hftrain/reporting/csv_sink.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/append_file.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_quoted(value.get<std::string>());
  return csv_quoted(value.is_structured() ? python_json(value, -1) : python_repr(value));
}

std::string line_of(const std::vector<std::string>& cells) {
  return join(cells, ",") + '\n';
}

std::string header_of(const std::vector<std::string>& columns) {
  std::vector<std::string> cells;
  for (const std::string& column : columns) cells.push_back(csv_quoted(column));
  return line_of(cells);
}

// The cells of the first line.
std::vector<std::string> parse_header(const std::string& text) {
  std::vector<std::string> cells(1);
  bool inside = false;
  for (size_t i = 0; i < text.size() && (inside || text[i] != '\n'); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (inside && i + 1 < text.size() && text[i + 1] == '"') {
        cells.back() += text[++i];
      } else {
        inside = !inside;
      }
    } else if (c == ',' && !inside) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

// Every record with `count` empty cells more. Records end at a newline outside quotes.
std::string widened(const std::string& records, size_t count) {
  std::string out;
  bool inside = false;
  for (const char c : records) {
    if (c == '"') inside = !inside;
    if (c == '\n' && !inside) out.append(count, ',');
    out += c;
  }
  return out;
}

}  // namespace

CsvSink::CsvSink(const std::string& path)
    : path_(path), columns_(kRecordPlaces.begin(), kRecordPlaces.end()), file_(open_for_lines(path)) {
  const std::string text = read_file(path);
  if (text.empty()) {
    write_all(file_.get(), header_of(columns_), path_);
    return;
  }
  columns_ = parse_header(text);
  const bool ours = columns_.size() >= kRecordPlaces.size() &&
                    std::equal(kRecordPlaces.begin(), kRecordPlaces.end(), columns_.begin());
  if (!ours)
    throw Error(ExitCode::kData, "not a table of logged records")
        .where(path)
        .why("its first line does not name the columns that hftrain writes")
        .hint("move the file away");
}

void CsvSink::record(const LogRecord& record) {
  std::vector<std::string> new_columns;
  for (const auto& [key, value] : record.metrics.items()) {
    if (std::find(columns_.begin(), columns_.end(), key) == columns_.end()) new_columns.push_back(key);
  }
  if (!new_columns.empty()) widen(new_columns);

  std::vector<std::string> cells = {std::to_string(record.step), python_repr(record.epoch),
                                    python_repr(record.time)};
  for (size_t i = kRecordPlaces.size(); i < columns_.size(); ++i) {
    const auto found = record.metrics.find(columns_[i]);
    cells.push_back(found == record.metrics.end() ? "" : cell(*found));
  }
  write_all(file_.get(), line_of(cells), path_);
}

void CsvSink::widen(const std::vector<std::string>& new_columns) {
  const std::string text = read_file(path_);
  const std::string records = text.substr(header_of(columns_).size());
  columns_.insert(columns_.end(), new_columns.begin(), new_columns.end());
  write_file_atomically(path_, header_of(columns_) + widened(records, new_columns.size()));
  file_ = open_for_lines(path_);
}

}  // namespace hftrain::reporting
