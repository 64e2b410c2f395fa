// hftrain/log.csv: a table of all records for spreadsheets.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// Columns: step, epoch, time, then every metric in the order of its first appearance; a cell without a value
// is empty. A record with a new metric rewrites the file with a wider header, atomically. Continues an
// existing table. RFC 4180 quoting, lines end with \n, numbers as Python prints them.
class CsvSink final : public RecordSink {
 public:
  // Error(kData) when the file exists and is not such a table.
  explicit CsvSink(const std::string& path);
  void record(const LogRecord& record) override;

 private:
  void widen(const std::vector<std::string>& new_columns);

  std::string path_;
  std::vector<std::string> columns_;
  FileDescriptor file_;
};

}  // namespace hftrain::reporting
