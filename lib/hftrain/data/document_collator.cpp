#include "hftrain/data/document_collator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/document_packer.h"
#include "hftrain/data/features.h"

namespace hftrain::data {
namespace {

constexpr int64_t kNoLabelHere = -100;

class DocumentCollator final : public Collator {
 public:
  DocumentCollator(PaddingOptions options, bool joins) : options_(std::move(options)), joins_(joins) {}

  std::vector<TensorShape> shapes(const Dataset& dataset, std::span<const int64_t> samples) const override {
    const Layout layout = layout_of(dataset, samples);
    std::vector<TensorShape> shapes;
    for (const PaddedColumn& column : options_.columns)
      shapes.push_back({column.tensor, TensorType::kInt64, {layout.rows, layout.width}});
    shapes.push_back({"position_ids", TensorType::kInt64, {layout.rows, layout.width}});
    return shapes;
  }

  void fill(const Dataset& dataset, std::span<const int64_t> samples, const DrawKey&,
            std::span<void* const> memory) const override {
    const Layout layout = layout_of(dataset, samples);
    const auto tensor = [&](size_t i) { return static_cast<int64_t*>(memory[i]); };
    for (size_t i = 0; i < options_.columns.size(); ++i) {
      const PaddedColumn& column = options_.columns[i];
      const bool mask = column.form == PaddedColumn::Form::kMask;
      std::fill_n(tensor(i), layout.rows * layout.width, mask ? 0 : column.pad);
      for (size_t place = 0; place < samples.size(); ++place)
        fill_sample(dataset.column(column.column), column, samples[place], tensor(i) + layout.begins[place]);
    }
    fill_positions(dataset, samples, layout, tensor(options_.columns.size()));
    for (size_t i = 0; i < options_.columns.size(); ++i) {
      if (options_.columns[i].tensor == "labels")
        hide_first(layout, tensor(options_.columns.size()), tensor(i));
    }
  }

 private:
  struct Layout {
    int64_t rows = 0, width = 0;
    std::vector<int64_t> begins;  // of samples, in the whole tensor
  };

  Layout layout_of(const Dataset& dataset, std::span<const int64_t> samples) const {
    const ColumnFile& ids = dataset.column(kInputIds);
    int64_t longest = 0, all = 0;
    for (const int64_t sample : samples) {
      longest = std::max(longest, ids.length(sample));
      all += ids.length(sample);
    }
    const int64_t tokens = joins_ ? all : longest;
    Layout layout{.rows = joins_ ? 1 : static_cast<int64_t>(samples.size()),
                  .width = (tokens + options_.multiple - 1) / options_.multiple * options_.multiple};
    int64_t begin = 0;
    for (const int64_t sample : samples) {
      layout.begins.push_back(begin);
      begin += joins_ ? ids.length(sample) : layout.width;
    }
    return layout;
  }

  static void fill_sample(const ColumnFile& file, const PaddedColumn& column, int64_t sample,
                          int64_t* place) {
    if (column.form == PaddedColumn::Form::kMask) {
      std::fill_n(place, file.length(sample), 1);
    } else {
      file.copy_to(sample, place);
    }
  }

  void fill_positions(const Dataset& dataset, std::span<const int64_t> samples, const Layout& layout,
                      int64_t* positions) const {
    for (int64_t row = 0; row < layout.rows; ++row) {
      int64_t* const begin = positions + row * layout.width;
      int64_t* at = begin;
      const size_t first = joins_ ? 0 : static_cast<size_t>(row), count = joins_ ? samples.size() : 1;
      for (const int64_t sample : samples.subspan(first, count)) {
        for (const int64_t length : documents_of(dataset, sample)) {
          std::iota(at, at + length, 0);
          at += length;
        }
      }
      std::iota(at, begin + layout.width, 0);
    }
  }

  static std::vector<int64_t> documents_of(const Dataset& dataset, int64_t sample) {
    const int64_t tokens = dataset.column(kInputIds).length(sample);
    if (!dataset.has(kDocumentLengths)) return {tokens};
    const ColumnFile& file = dataset.column(kDocumentLengths);
    std::vector<int64_t> lengths(static_cast<size_t>(file.length(sample)));
    file.copy_to(sample, lengths.data());
    if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) == tokens) return lengths;
    throw Error(ExitCode::kData, "the documents of a packed sample are not as long as the sample")
        .where("sample " + std::to_string(sample))
        .why("the prepared files belong to different data")
        .hint("prepare the data again with --overwrite_cache");
  }

  static void hide_first(const Layout& layout, const int64_t* positions, int64_t* labels) {
    for (int64_t i = 0; i < layout.rows * layout.width; ++i) {
      if (positions[i] == 0) labels[i] = kNoLabelHere;
    }
  }

  PaddingOptions options_;
  bool joins_;
};

}  // namespace

std::unique_ptr<Collator> document_collator(PaddingOptions options, bool joins) {
  return std::make_unique<DocumentCollator>(std::move(options), joins);
}

}  // namespace hftrain::data
