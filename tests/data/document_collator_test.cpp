// Batches of packed samples, and of samples in one row.
#include "hftrain/data/document_collator.h"

#include "hftrain/base/error.h"
#include "hftrain/data/column_writer.h"
#include "hftrain/data/document_packer.h"
#include "hftrain/data/features.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

using Rows = std::vector<std::vector<int32_t>>;

Dataset::Column document_column(const std::string& folder, const std::string& name, const Rows& rows) {
  const std::string prefix = folder + '/' + name;
  ColumnWriter writer(prefix, name == kInputIds ? FeatureType::kTokenIds : FeatureType::kInteger, 100);
  for (const auto& row : rows) writer.add(row);
  writer.finish();
  return {name, ColumnFile::open(prefix)};
}

PaddingOptions document_padding(int64_t multiple) {
  PaddingOptions options;
  options.columns = {{"input_ids", kInputIds, PaddedColumn::Form::kSequence, 9},
                     {"attention_mask", kInputIds, PaddedColumn::Form::kMask},
                     {"labels", "labels", PaddedColumn::Form::kSequence, -100}};
  options.multiple = multiple;
  return options;
}

// Each tensor's numbers, row after row.
std::vector<std::vector<int64_t>> filled(const Collator& collator, const Dataset& dataset,
                                         const std::vector<int64_t>& samples, std::vector<int64_t> sizes) {
  const std::vector<TensorShape> shapes = collator.shapes(dataset, samples);
  std::vector<std::vector<int64_t>> memory(shapes.size());
  std::vector<void*> places;
  for (size_t i = 0; i < shapes.size(); ++i) {
    CHECK(shapes[i].sizes == sizes);
    memory[i].resize(static_cast<size_t>(sizes[0] * sizes[1]));
    places.push_back(memory[i].data());
  }
  CHECK(shapes.back().name == "position_ids");
  collator.fill(dataset, samples, {}, places);
  return memory;
}

}  // namespace

TEST_CASE("packed samples say where their documents begin", "[data][packing]") {
  const testing::TemporaryDirectory folder;
  const Rows ids = {{1, 2, 3, 4, 5}, {6, 7}};
  const Dataset dataset({document_column(folder.path(), kInputIds, ids),
                         document_column(folder.path(), "labels", ids),
                         document_column(folder.path(), kDocumentLengths, {{3, 2}, {2}})});
  const auto apart = filled(*document_collator(document_padding(1), false), dataset, {1, 0}, {2, 5});
  CHECK(apart[0] == std::vector<int64_t>{6, 7, 9, 9, 9, 1, 2, 3, 4, 5});
  CHECK(apart[1] == std::vector<int64_t>{1, 1, 0, 0, 0, 1, 1, 1, 1, 1});
  CHECK(apart[2] == std::vector<int64_t>{-100, 7, -100, -100, -100, -100, 2, 3, -100, 5});
  CHECK(apart[3] == std::vector<int64_t>{0, 1, 0, 1, 2, 0, 1, 2, 0, 1});
  const auto joined = filled(*document_collator(document_padding(4), true), dataset, {1, 0}, {1, 8});
  CHECK(joined[0] == std::vector<int64_t>{6, 7, 1, 2, 3, 4, 5, 9});
  CHECK(joined[1] == std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(joined[2] == std::vector<int64_t>{-100, 7, -100, 2, 3, -100, 5, -100});
  CHECK(joined[3] == std::vector<int64_t>{0, 1, 0, 1, 2, 0, 1, 0});
}

TEST_CASE("without lengths every sample is a document", "[data][packing]") {
  const testing::TemporaryDirectory folder;
  const Rows ids = {{1, 2, 3}, {4, 5}};
  const Dataset dataset(
      {document_column(folder.path(), kInputIds, ids), document_column(folder.path(), "labels", ids)});
  const auto joined = filled(*document_collator(document_padding(1), true), dataset, {0, 1}, {1, 5});
  CHECK(joined[3] == std::vector<int64_t>{0, 1, 2, 0, 1});
}

TEST_CASE("documents that are not as long as their sample are refused", "[data][packing]") {
  const testing::TemporaryDirectory folder;
  const Rows ids = {{1, 2, 3}};
  const Dataset dataset({document_column(folder.path(), kInputIds, ids),
                         document_column(folder.path(), "labels", ids),
                         document_column(folder.path(), kDocumentLengths, {{1, 1}})});
  CHECK_REFUSED(filled(*document_collator(document_padding(1), true), dataset, {0}, {1, 3}),
                "the documents of a packed sample are not as long as the sample");
}
}  // namespace hftrain::data
