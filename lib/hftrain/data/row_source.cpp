#include "hftrain/data/row_source.h"

#include <algorithm>
#include <utility>

namespace hftrain::data {
namespace {

std::unique_ptr<RowSource> open_file(const RowFile& file, const RowOptions& options) {
  switch (file.format) {
    case RowFormat::kText:
      return open_text_rows(file.path, options);
    case RowFormat::kJsonLines:
      return open_json_lines_rows(file.path, options);
    case RowFormat::kJson:
      return open_json_rows(file.path, options);
    case RowFormat::kCsv:
      return open_delimited_rows(file.path, ',', options);
    case RowFormat::kTsv:
      return open_delimited_rows(file.path, '\t', options);
  }
  return nullptr;
}

class FileSequence final : public RowSource {
 public:
  FileSequence(std::vector<RowFile> files, const RowOptions& options)
      : files_(std::move(files)), options_(options) {}

  bool next(Records& records) override {
    while (true) {
      if (!current_) {
        if (opened_ == files_.size()) return false;
        current_ = open_file(files_[opened_++], options_);
      }
      if (current_->next(records)) return true;
      finished_bytes_ += current_->file_position();
      current_.reset();
    }
  }

  uint64_t file_position() const override {
    return finished_bytes_ + (current_ ? current_->file_position() : 0);
  }

 private:
  std::vector<RowFile> files_;
  RowOptions options_;
  size_t opened_ = 0;
  std::unique_ptr<RowSource> current_;
  uint64_t finished_bytes_ = 0;
};

class RowWindow final : public RowSource {
 public:
  RowWindow(std::unique_ptr<RowSource> source, int64_t begin, int64_t end)
      : source_(std::move(source)), begin_(begin), end_(end) {}

  bool next(Records& records) override {
    for (; row_ < begin_; ++row_) {
      if (!source_->next(records)) return false;
      records.drop_last_row();
    }
    if (end_ >= 0 && row_ >= end_) return false;
    ++row_;
    return source_->next(records);
  }

  uint64_t file_position() const override { return source_->file_position(); }

 private:
  std::unique_ptr<RowSource> source_;
  int64_t begin_;
  int64_t end_;
  int64_t row_ = 0;
};

}  // namespace

ColumnRule text_column() {
  return {.columns = 1, .choose = [](const std::vector<std::string>& names) -> std::vector<std::string> {
            const bool has_text = std::find(names.begin(), names.end(), "text") != names.end();
            return {has_text || names.empty() ? "text" : names.front()};
          }};
}

std::unique_ptr<RowSource> open_rows(std::vector<RowFile> files, const RowOptions& options) {
  return std::make_unique<FileSequence>(std::move(files), options);
}

std::unique_ptr<RowSource> row_window(std::unique_ptr<RowSource> source, int64_t begin, int64_t end) {
  return std::make_unique<RowWindow>(std::move(source), begin, end);
}

}  // namespace hftrain::data
