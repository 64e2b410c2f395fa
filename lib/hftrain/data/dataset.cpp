#include "hftrain/data/dataset.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/feature_sink.h"

namespace hftrain::data {

Dataset::Dataset(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& other : columns_) {
    if (other.file->size() == size()) continue;
    throw Error(ExitCode::kData, "the columns of a prepared split have different sizes")
        .where("the cache of samples")
        .why(columns_.front().name + " has " + std::to_string(size()) + " samples, " + other.name + " has " +
             std::to_string(other.file->size()))
        .hint("prepare the data again with --overwrite_cache");
  }
}

std::shared_ptr<const Dataset> Dataset::open(const std::string& prefix,
                                             const std::vector<std::string>& columns) {
  std::vector<Column> opened;
  for (const std::string& name : columns)
    opened.push_back({name, ColumnFile::open(column_prefix(prefix, name))});
  return std::make_shared<const Dataset>(std::move(opened));
}

const ColumnFile* Dataset::find(const std::string& name) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == columns_.end() ? nullptr : found->file.get();
}

const ColumnFile& Dataset::column(const std::string& name) const {
  if (const ColumnFile* file = find(name)) return *file;
  throw Error(ExitCode::kInternal, "the samples have no column '" + name + "'");
}

}  // namespace hftrain::data
