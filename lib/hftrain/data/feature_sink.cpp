#include "hftrain/data/feature_sink.h"

#include <algorithm>
#include <span>

namespace hftrain::data {

std::string column_prefix(const std::string& prefix, const std::string& column) {
  return column == kInputIds ? prefix : prefix + '.' + column;
}

void RowKeeper::add(const Features& features) {
  size_t count = features.columns.front().lengths.size();
  if (max_samples_)
    count = std::min(count, static_cast<size_t>(*max_samples_ - writers_.front()->sequences()));
  for (size_t column = 0; column < schema_.size(); ++column)
    add_column(column, features.columns[column], count);
}

void RowKeeper::add_column(size_t column, const FeatureValues& values, size_t features) {
  size_t begin = 0;
  for (size_t i = 0; i < features; ++i) {
    const auto length = static_cast<size_t>(values.lengths[i]);
    if (schema_[column].type == FeatureType::kFloat) {
      writers_[column]->add(std::span(values.floats).subspan(begin, length));
    } else {
      writers_[column]->add(std::span(values.integers).subspan(begin, length));
    }
    begin += length;
  }
}

}  // namespace hftrain::data
