#include "hftrain/data/collator.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/features.h"

namespace hftrain::data {
namespace {

class BlockCollator final : public Collator {
 public:
  std::vector<TensorShape> shapes(const Dataset& dataset, std::span<const int64_t> samples) const override {
    const auto rows = static_cast<int64_t>(samples.size());
    return {{"input_ids", TensorType::kInt64, {rows, dataset.column(kInputIds).length(samples.front())}},
            {"labels", TensorType::kInt64, {}, 0}};
  }

  void fill(const Dataset& dataset, std::span<const int64_t> samples, const DrawKey&,
            std::span<void* const> memory) const override {
    const ColumnFile& ids = dataset.column(kInputIds);
    const int64_t length = ids.length(samples.front());
    auto* row = static_cast<int64_t*>(memory.front());
    for (const int64_t sample : samples) {
      if (ids.length(sample) != length) {
        throw Error(ExitCode::kData, "samples of different lengths in one batch")
            .where("the cache of samples")
            .why("causal language modelling trains on blocks of one length")
            .hint("prepare the data again with --overwrite_cache");
      }
      ids.copy_to(sample, row);
      row += length;
    }
  }
};

class PaddingCollator final : public Collator {
 public:
  explicit PaddingCollator(PaddingOptions options) : options_(std::move(options)) {}

  std::vector<TensorShape> shapes(const Dataset& dataset, std::span<const int64_t> samples) const override {
    const auto rows = static_cast<int64_t>(samples.size());
    std::vector<TensorShape> shapes;
    for (const PaddedColumn& column : options_.columns) {
      TensorShape shape;
      shape.name = column.tensor;
      shape.type = floats(dataset, column) ? TensorType::kFloat32 : TensorType::kInt64;
      shape.sizes = {rows};
      if (!single(column)) shape.sizes.push_back(width(dataset, column, samples));
      shapes.push_back(std::move(shape));
    }
    return shapes;
  }

  void fill(const Dataset& dataset, std::span<const int64_t> samples, const DrawKey&,
            std::span<void* const> memory) const override {
    for (size_t i = 0; i < options_.columns.size(); ++i) {
      const PaddedColumn& column = options_.columns[i];
      if (column.form == PaddedColumn::Form::kPlace) {
        fill_places(dataset, column, samples, static_cast<int64_t*>(memory[i]));
      } else if (floats(dataset, column)) {
        fill_column(dataset, column, samples, static_cast<float*>(memory[i]));
      } else {
        fill_column(dataset, column, samples, static_cast<int64_t*>(memory[i]));
      }
    }
  }

 private:
  static bool floats(const Dataset& dataset, const PaddedColumn& column) {
    return column.form != PaddedColumn::Form::kMask && dataset.column(column.column).floats();
  }

  static bool single(const PaddedColumn& column) {
    return column.form == PaddedColumn::Form::kScalar || column.form == PaddedColumn::Form::kPlace;
  }

  // Numbers of a row of the tensor.
  int64_t width(const Dataset& dataset, const PaddedColumn& column, std::span<const int64_t> samples) const {
    const ColumnFile& file = dataset.column(column.column);
    if (single(column)) return 1;
    if (column.form == PaddedColumn::Form::kVector) return file.length(samples.front());
    int64_t longest = column.own_length ? 0 : options_.length;
    if (longest == 0) {
      for (const int64_t sample : samples) longest = std::max(longest, file.length(sample));
    }
    return (longest + options_.multiple - 1) / options_.multiple * options_.multiple;
  }

  void fill_places(const Dataset& dataset, const PaddedColumn& column, std::span<const int64_t> samples,
                   int64_t* place) const {
    const ColumnFile &places = dataset.column(column.column), &ids = dataset.column(kInputIds);
    const int64_t size = width(dataset, {"", kInputIds}, samples);
    for (const int64_t sample : samples) {
      if (places.length(sample) != 1) throw wrong_length(column, sample, places.length(sample), 1);
      places.copy_to(sample, place);
      if (*place >= 0 && options_.on_left) *place += size - ids.length(sample);
      *place = std::max<int64_t>(0, *place);
      ++place;
    }
  }

  template <typename T>
  void fill_column(const Dataset& dataset, const PaddedColumn& column, std::span<const int64_t> samples,
                   T* row) const {
    using Form = PaddedColumn::Form;
    const ColumnFile& file = dataset.column(column.column);
    const int64_t size = width(dataset, column, samples);
    for (const int64_t sample : samples) {
      const int64_t length = file.length(sample);
      const bool fixed = column.form == Form::kScalar || column.form == Form::kVector;
      if (fixed ? length != size : length > size) throw wrong_length(column, sample, length, size);
      T* const begin = options_.on_left ? row + size - length : row;
      const T pad = static_cast<T>(column.form == Form::kMask ? 0 : column.pad);
      std::fill(row, begin, pad);
      std::fill(begin + length, row + size, pad);
      if (column.form == Form::kMask) {
        std::fill(begin, begin + length, static_cast<T>(1));
      } else {
        file.copy_to(sample, begin);
      }
      row += size;
    }
  }

  static Error wrong_length(const PaddedColumn& column, int64_t sample, int64_t length, int64_t size) {
    return Error(ExitCode::kData, "a prepared sample has another length than its batch")
        .where("sample " + std::to_string(sample) + ", column " + column.column)
        .why("it has " + std::to_string(length) + " numbers where " + std::to_string(size) + " are wanted")
        .hint("prepare the data again with --overwrite_cache");
  }

  PaddingOptions options_;
};

}  // namespace

std::unique_ptr<Collator> block_collator() {
  return std::make_unique<BlockCollator>();
}

std::unique_ptr<Collator> padding_collator(PaddingOptions options) {
  return std::make_unique<PaddingCollator>(std::move(options));
}

}  // namespace hftrain::data
