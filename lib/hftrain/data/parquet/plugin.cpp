// Reads Parquet files with libparquet, some rows at a time.
#include <arrow/array.h>
#include <arrow/config.h>
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <fstream>

#include "hftrain/data/parquet/chunks.h"
#include "hftrain/data/parquet/interface.h"
#include "hftrain/data/parquet/problems.h"
#include "hftrain/data/parquet/values.h"

namespace hftrain::data {
namespace {

// A page of the format has 2 GiB at most; a file that asks for more than this at once is none that can be read.
constexpr int64_t kMostMemory = int64_t{4} << 30;
constexpr int64_t kStreamBytes = 1 << 20;
// The four bytes that end a file, and that begin it: PAR1, or PARE where all of it is encrypted.
void check_magic(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string end(4, '\0');
  file.seekg(-4, std::ios::end);
  file.read(end.data(), 4);
  if (end == "PARE") throw ParquetProblem{"", 0, "the file is encrypted", kNoKeys};
}

class FileOfRows final : public ParquetReader {
 public:
  explicit FileOfRows(const std::string& path) : pool_(arrow::system_memory_pool(), kMostMemory) {
    guarded([&] { open(path); });
  }

  std::vector<ParquetColumn> columns() const override {
    std::vector<ParquetColumn> columns;
    for (const auto& field : schema_->fields()) {
      const std::string unreadable = unreadable_type(*field->type());
      const bool bytes = !unreadable.empty() && unreadable_type(*field->type(), /*takes_bytes=*/true).empty();
      columns.push_back({field->name(), unreadable, bytes});
    }
    return columns;
  }

  std::string features() const override {
    constexpr const char* kKey = "huggingface";  // by which the package datasets keeps them
    const auto& metadata = schema_->metadata();
    const auto found = metadata ? metadata->Get(kKey) : arrow::Result<std::string>(std::string());
    return found.ok() ? *found : "";
  }

  void select(const std::vector<size_t>& columns) override {
    guarded([&] { start(columns); });
  }

  bool next() override {
    return guarded([&] { return ++row_ < rows_in_batch() || next_batch(); });
  }

  void copy(size_t place, size_t slot, ValueSlots& slots) override {
    guarded([&] { copy_value(*arrays_[place], row_, slot, slots); });
  }

  double share_read() const override {
    const int64_t all = std::max<int64_t>(reader_->parquet_reader()->metadata()->num_rows(), 1);
    return std::min(
        1.0, static_cast<double>(rows_before_ + std::max<int64_t>(row_, 0)) / static_cast<double>(all));
  }

 private:
  void open(const std::string& path) {
    check_magic(path);
    parquet::ReaderProperties properties(&pool_);
    properties.enable_buffered_stream();  // memory of a page, not of a row group
    properties.set_buffer_size(kStreamBytes);
    properties.set_page_checksum_verification(true);  // of files that have them
    parquet::ArrowReaderProperties options(false);
    options.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(checked(arrow::io::ReadableFile::Open(path, &pool_)), properties));
    builder.memory_pool(&pool_);
    builder.properties(options);
    reader_ = checked(builder.Build());
    check(reader_->GetSchema(&schema_));
  }

  void start(const std::vector<size_t>& columns) {
    std::vector<int> leaves, groups(static_cast<size_t>(reader_->num_row_groups()));
    const auto metadata = reader_->parquet_reader()->metadata();
    for (size_t group = 0; group < groups.size(); ++group) groups[group] = static_cast<int>(group);
    for (const size_t column : columns) {
      names_.push_back(schema_->field(static_cast<int>(column))->name());
      const size_t before = leaves.size();
      add_leaves(reader_->manifest().schema_fields[column], leaves);
      for (size_t leaf = before; leaf < leaves.size(); ++leaf)
        check_chunks(*metadata, leaves[leaf], names_.back());
    }
    // Rows of which no column is wanted are counted by reading one.
    if (leaves.empty() && schema_->num_fields() > 0) add_leaves(reader_->manifest().schema_fields[0], leaves);
    if (leaves.empty()) return;
    reader_->set_batch_size(rows_of_a_batch(*metadata, leaves));
    batches_ = checked(reader_->GetRecordBatchReader(groups, leaves));
  }

  static void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
    if (field.is_leaf()) leaves.push_back(field.column_index);
    for (const auto& child : field.children) add_leaves(child, leaves);
  }

  int64_t rows_in_batch() const { return batch_ ? batch_->num_rows() : 0; }

  bool next_batch() {
    rows_before_ += rows_in_batch();
    row_ = 0;
    batch_.reset();
    arrays_.clear();
    do {
      if (batches_) check(batches_->ReadNext(&batch_));
      if (!batch_) return at_end();
    } while (batch_->num_rows() == 0);
    for (const std::string& name : names_) {
      arrays_.push_back(batch_->GetColumnByName(name));
      if (!arrays_.back()) throw ParquetProblem{name, 0, "it is missing in some rows", kDamaged};
      validate(*arrays_.back(), name);
    }
    return true;
  }

  bool at_end() const {
    const int64_t promised = batches_ ? reader_->parquet_reader()->metadata()->num_rows() : 0;
    if (rows_before_ != promised)
      throw ParquetProblem{"", 0,
                           "the file says that it has " + std::to_string(promised) + " rows, and " +
                               std::to_string(rows_before_) + " are there",
                           kDamaged};
    return false;
  }

  // Offsets that lead out of the data, text that is not UTF-8: names the first row that is so.
  void validate(const arrow::Array& array, const std::string& name) const {
    const arrow::Status status = array.ValidateFull();
    if (status.ok()) return;
    if (!array.Validate().ok()) fail(status, name);
    for (int64_t row = 0; row < array.length(); ++row) {
      const arrow::Status alone = array.Slice(row, 1)->ValidateFull();
      if (!alone.ok()) throw ParquetProblem{name, rows_before_ + row + 1, alone.message(), kDamaged};
    }
    fail(status, name);
  }

  arrow::CappedMemoryPool pool_;  // outlives all below
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::string> names_;  // of the selected columns
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::vector<std::shared_ptr<arrow::Array>> arrays_;  // of the batch, as names_
  int64_t row_ = 0;                                    // in the batch
  int64_t rows_before_ = 0;                            // of earlier batches
};

std::unique_ptr<ParquetReader> open_file_of_rows(const std::string& path) {
  return std::make_unique<FileOfRows>(path);
}

}  // namespace
}  // namespace hftrain::data

extern "C" __attribute__((visibility("default"))) const hftrain::data::ParquetPlugin&
hftrain_parquet_plugin() {
  static const hftrain::data::ParquetPlugin plugin = {ARROW_VERSION_STRING, hftrain::data::open_file_of_rows};
  return plugin;
}
