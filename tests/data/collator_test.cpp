#include "hftrain/data/collator.h"

#include "hftrain/base/error.h"
#include "hftrain/data/column_writer.h"
#include "hftrain/data/feature_sink.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

using Rows = std::vector<std::vector<int32_t>>;
using Form = PaddedColumn::Form;
using testing::TemporaryDirectory;

void write_column(const std::string& prefix, const std::string& name, const Rows& rows) {
  ColumnWriter writer(column_prefix(prefix, name), FeatureType::kInteger, 0);
  for (const std::vector<int32_t>& row : rows) writer.add(row);
  writer.finish();
}

// What a collator makes of samples: memory that was full of another number, once filled.
struct Filled {
  std::vector<TensorShape> shapes;
  std::vector<std::vector<int64_t>> integers;
  std::vector<std::vector<float>> floats;

  Filled(const Collator& collator, const Dataset& dataset, const std::vector<int64_t>& samples)
      : shapes(collator.shapes(dataset, samples)), integers(shapes.size()), floats(shapes.size()) {
    std::vector<void*> memory;
    for (size_t i = 0; i < shapes.size(); ++i) {
      size_t numbers = 1;
      for (const int64_t size : shapes[i].sizes) numbers *= static_cast<size_t>(size);
      if (shapes[i].same_as) numbers = 0;
      integers[i].assign(numbers, 77), floats[i].assign(numbers, 77);
      const bool whole = shapes[i].type == TensorType::kInt64;
      memory.push_back(whole ? static_cast<void*>(integers[i].data()) : floats[i].data());
    }
    collator.fill(dataset, samples, {}, memory);
  }
};

TEST_CASE("blocks lie one after another, and labels are the same tensor") {
  const TemporaryDirectory folder;
  write_column(folder / "train", "input_ids", {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 2}});
  const auto dataset = Dataset::open(folder / "train", {"input_ids"});
  const auto collator = block_collator();
  const Filled batch(*collator, *dataset, {2, 0});
  REQUIRE(batch.shapes.size() == 2);
  CHECK(batch.shapes[0].sizes == std::vector<int64_t>{2, 3});
  CHECK(batch.integers[0] == std::vector<int64_t>{7, 8, 9, 1, 2, 3});
  CHECK(batch.shapes[1].name == "labels");
  CHECK(batch.shapes[1].same_as == size_t{0});
  CHECK_REFUSED(Filled(*collator, *dataset, {0, 3}), "samples of different lengths in one batch");
}

TEST_CASE("rows are padded to the longest, to a multiple of it, or to a length") {
  const TemporaryDirectory folder;
  const std::string prefix = folder / "train";
  write_column(prefix, "input_ids", {{5, 6, 7}, {8}, {}, {1, 2, 3, 4, 5}});
  write_column(prefix, "labels", {{2}, {0}, {1}, {1, 1}});
  const auto dataset = Dataset::open(prefix, {"input_ids", "labels"});
  PaddingOptions options{.columns = {{"input_ids", "input_ids", Form::kSequence, 9},
                                     {"attention_mask", "input_ids", Form::kMask},
                                     {"labels", "labels", Form::kScalar}}};
  const auto batch = [&](const std::vector<int64_t>& samples) {
    return Filled(*padding_collator(options), *dataset, samples);
  };
  const Filled longest = batch({0, 1, 2});
  CHECK(longest.shapes[0].sizes == std::vector<int64_t>{3, 3});
  CHECK(longest.integers[0] == std::vector<int64_t>{5, 6, 7, 8, 9, 9, 9, 9, 9});
  CHECK(longest.integers[1] == std::vector<int64_t>{1, 1, 1, 1, 0, 0, 0, 0, 0});
  CHECK(longest.shapes[2].sizes == std::vector<int64_t>{3});
  CHECK(longest.integers[2] == std::vector<int64_t>{2, 0, 1});
  CHECK_REFUSED(batch({0, 3}), "sample 3, column labels");  // two labels where there is to be one
  options.multiple = 4;
  CHECK(batch({1, 0}).integers[0] == std::vector<int64_t>{8, 9, 9, 9, 5, 6, 7, 9});
  options.length = 6;
  CHECK(batch({1}).integers[0] == std::vector<int64_t>{8, 9, 9, 9, 9, 9, 9, 9});
  options.multiple = 1;
  CHECK(batch({1}).integers[0] == std::vector<int64_t>{8, 9, 9, 9, 9, 9});
  options.on_left = true;
  CHECK(batch({1}).integers[0] == std::vector<int64_t>{9, 9, 9, 9, 9, 8});
  CHECK(batch({1}).integers[1] == std::vector<int64_t>{0, 0, 0, 0, 0, 1});
  options.length = 2;
  CHECK_REFUSED(batch({0}), "it has 3 numbers where 2 are wanted");
}

TEST_CASE("columns of floats become tensors of floats, with as many numbers a row as all have") {
  const TemporaryDirectory folder;
  const std::string prefix = folder / "train";
  write_column(prefix, "input_ids", {{1}, {2}, {3}});
  ColumnWriter writer(column_prefix(prefix, "labels"), FeatureType::kFloat, 0);
  writer.add(std::vector<float>{0.5F, 1});
  writer.add(std::vector<float>{-2, 0});
  writer.add(std::vector<float>{3});
  writer.finish();
  const auto dataset = Dataset::open(prefix, {"input_ids", "labels"});
  const auto collator = padding_collator({.columns = {{"labels", "labels", Form::kVector}}});
  const Filled batch(*collator, *dataset, {1, 0});
  CHECK(batch.shapes[0].type == TensorType::kFloat32);
  CHECK(batch.shapes[0].sizes == std::vector<int64_t>{2, 2});
  CHECK(batch.floats[0] == std::vector<float>{-2, 0, 0.5F, 1});
  CHECK_REFUSED(Filled(*collator, *dataset, {0, 2}), "sample 2, column labels");
}

TEST_CASE("columns of a split that do not belong together are refused") {
  const TemporaryDirectory folder;
  write_column(folder / "train", "input_ids", {{1}, {2}});
  write_column(folder / "train", "labels", {{1}});
  CHECK_REFUSED(Dataset::open(folder / "train", {"input_ids", "labels"}),
                "columns of a prepared split have different sizes");
  CHECK_REFUSED(Dataset::open(folder / "train", {"input_ids"})->column("labels"),
                "the samples have no column 'labels'");
  CHECK_REFUSED(Dataset::open(folder / "train", {"input_ids", "missing"}), "No such file or directory");
}

}  // namespace
}  // namespace hftrain::data
