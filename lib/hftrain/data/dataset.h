// A prepared split: samples, each with one sequence of numbers in every column.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/data/column_file.h"

namespace hftrain::data {

// Read-only, thread-safe.
class Dataset {
 public:
  struct Column {
    std::string name;
    std::shared_ptr<const ColumnFile> file;
  };

  // At least one column. Columns of different sizes are an Error (exit code 4).
  explicit Dataset(std::vector<Column> columns);
  // The columns of a split as prepare() wrote them, or of a user's token file, whose one column is input_ids.
  static std::shared_ptr<const Dataset> open(const std::string& prefix,
                                             const std::vector<std::string>& columns);

  int64_t size() const { return columns_.front().file->size(); }  // number of samples
  bool has(const std::string& name) const { return find(name) != nullptr; }
  // An Error (exit code 1) when it has no such column.
  const ColumnFile& column(const std::string& name) const;

 private:
  const ColumnFile* find(const std::string& name) const;  // null when it is not there

  std::vector<Column> columns_;
};

}  // namespace hftrain::data
