#include "hftrain/data/shuffling_sink.h"

#include <filesystem>
#include <utility>

#include "hftrain/data/column_file.h"
#include "hftrain/data/numpy_permutation.h"

namespace hftrain::data {
namespace {

void add_from(const ColumnFile& file, int64_t sample, FeatureValues& values) {
  std::vector<int64_t> numbers(static_cast<size_t>(file.length(sample)));
  file.copy_to(sample, numbers.data());
  values.integers.assign(numbers.begin(), numbers.end());
  values.lengths = {static_cast<int32_t>(numbers.size())};
}

}  // namespace

ShufflingSink::ShufflingSink(FeatureSchema schema, std::string prefix, int64_t vocabulary, uint64_t seed,
                             std::optional<int64_t> max_samples, const std::atomic<bool>* stop,
                             std::unique_ptr<FeatureSink> next)
    : schema_(std::move(schema)),
      prefix_(std::move(prefix)),
      seed_(seed),
      stop_(stop),
      next_(std::move(next)) {
  std::vector<SequenceWriter*> into;
  for (const FeatureColumn& column : schema_) {
    writers_.push_back(
        std::make_unique<ColumnWriter>(column_prefix(prefix_, column.name), column.type, vocabulary));
    into.push_back(writers_.back().get());
  }
  keeper_ = std::make_unique<RowKeeper>(schema_, std::move(into), max_samples);
}

ShufflingSink::~ShufflingSink() {
  writers_.clear();
  for (const FeatureColumn& column : schema_) {
    for (const char* end : {".bin", ".idx"}) {
      std::error_code ignored;
      std::filesystem::remove(column_prefix(prefix_, column.name) + end, ignored);
    }
  }
}

void ShufflingSink::finish() {
  const int64_t samples = writers_.front()->sequences();
  std::vector<std::unique_ptr<ColumnFile>> files;
  for (size_t column = 0; column < schema_.size() && samples > 0; ++column) {
    writers_[column]->finish();
    files.push_back(ColumnFile::open(column_prefix(prefix_, schema_[column].name)));
  }
  Features one{.columns = std::vector<FeatureValues>(schema_.size())};
  for (const int64_t sample : numpy_permutation(seed_, samples)) {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return;
    if (next_->full()) break;
    for (size_t column = 0; column < files.size(); ++column)
      add_from(*files[column], sample, one.columns[column]);
    next_->add(one);
  }
  next_->finish();
}

}  // namespace hftrain::data
