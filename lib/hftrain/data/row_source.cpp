#include "hftrain/data/row_source.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/image_folder.h"

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
    case RowFormat::kImageFolder:
      return open_image_folder_rows(file.path, options);
    case RowFormat::kLinePairs:
      return open_line_pairs(file.path, options);
    case RowFormat::kParquet:
      return open_parquet_rows(file.path, options);
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
      if (current_->next(records)) {
        if (!began_) look_at_classes(records);
        began_ = true;
        return true;
      }
      began_ = false;
      finished_bytes_ += current_->file_position();
      current_.reset();
    }
  }

  uint64_t file_position() const override {
    return finished_bytes_ + (current_ ? current_->file_position() : 0);
  }

  std::vector<std::string> class_names(size_t column) const override {
    return column < classes_.size() ? classes_[column] : std::vector<std::string>();
  }

 private:
  // At the first row of a file: numbers of the files before stand for the same classes.
  void look_at_classes(const Records& records) {
    std::vector<std::vector<std::string>> classes;
    for (size_t column = 0; column < options_.columns.columns; ++column)
      classes.push_back(current_->class_names(column));
    if (!classes_.empty() && classes != classes_)
      throw Error(ExitCode::kData, "files of the data declare different classes")
          .where(records.where(records.rows() - 1))
          .why(difference(classes))
          .hint("write all files with the same features");
    classes_ = std::move(classes);
  }

  std::string difference(const std::vector<std::vector<std::string>>& classes) const {
    for (size_t column = 0; column < classes.size(); ++column) {
      if (classes[column] == classes_[column]) continue;
      if (classes[column].empty()) return "it has no ClassLabel, and the files before it have one";
      if (classes_[column].empty()) return "it has a ClassLabel, and the files before it have none";
    }
    return "the names of its ClassLabel are not those of the files before it";
  }

  std::vector<std::vector<std::string>> classes_;  // by column
  bool began_ = false;                             // the current file
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
  std::vector<std::string> class_names(size_t column) const override { return source_->class_names(column); }

 private:
  std::unique_ptr<RowSource> source_;
  int64_t begin_;
  int64_t end_;
  int64_t row_ = 0;
};

class RowsOfHundreds final : public RowSource {
 public:
  RowsOfHundreds(std::unique_ptr<RowSource> source, int64_t count, HundredPart part)
      : source_(std::move(source)), count_(count), part_(part) {}

  bool next(Records& records) override {
    while (source_->next(records)) {
      const bool first = row_++ % 100 < count_;
      if (first == (part_ == HundredPart::kFirst)) return true;
      records.drop_last_row();
    }
    return false;
  }

  uint64_t file_position() const override { return source_->file_position(); }

 private:
  std::unique_ptr<RowSource> source_;
  int64_t count_;
  HundredPart part_;
  int64_t row_ = 0;
};

class WatchedRows final : public RowSource {
 public:
  WatchedRows(std::unique_ptr<RowSource> source, std::function<void(const Records&, size_t)> look)
      : source_(std::move(source)), look_(std::move(look)) {}

  bool next(Records& records) override {
    if (!source_->next(records)) return false;
    look_(records, records.rows() - 1);
    return true;
  }

  uint64_t file_position() const override { return source_->file_position(); }
  std::vector<std::string> class_names(size_t column) const override { return source_->class_names(column); }

 private:
  std::unique_ptr<RowSource> source_;
  std::function<void(const Records&, size_t)> look_;
};

class RowOrder final : public RowSource {
 public:
  RowOrder(std::unique_ptr<RowSource> source, size_t columns, std::vector<int64_t> order)
      : source_(std::move(source)),
        rows_(columns),
        order_(std::move(order)),
        rising_(std::adjacent_find(order_.begin(), order_.end(), std::greater_equal<>()) == order_.end()) {}

  bool next(Records& records) override {
    if (next_ == order_.size()) return false;
    if (rising_) return next_in_file(records);
    if (next_ == 0) keep();
    const auto kept = std::lower_bound(wanted_.begin(), wanted_.end(), order_[next_++]);
    records.add_copy(rows_, static_cast<size_t>(kept - wanted_.begin()));
    return true;
  }

  uint64_t file_position() const override { return source_->file_position(); }
  std::vector<std::string> class_names(size_t column) const override { return source_->class_names(column); }

 private:
  // As rows come, passing over those that nobody wants.
  bool next_in_file(Records& records) {
    for (const int64_t wanted = order_[next_++]; source_->next(records); records.drop_last_row()) {
      if (row_++ == wanted) return true;
    }
    return false;
  }

  void keep() {
    wanted_ = order_;
    std::sort(wanted_.begin(), wanted_.end());
    for (size_t place = 0; place < wanted_.size() && source_->next(rows_); ++row_) {
      if (row_ == wanted_[place]) {
        ++place;
      } else {
        rows_.drop_last_row();
      }
    }
  }

  std::unique_ptr<RowSource> source_;
  Records rows_;  // those of wanted_, where the order is another one than the files'
  std::vector<int64_t> order_, wanted_;
  bool rising_;
  int64_t row_ = 0;  // of the files, the next one
  size_t next_ = 0;
};

}  // namespace

ColumnRule text_column() {
  return {.columns = 1,
          .choose = [](const std::vector<std::string>& names) -> std::vector<std::string> {
            const bool has_text = std::find(names.begin(), names.end(), "text") != names.end();
            return {has_text || names.empty() ? "text" : names.front()};
          },
          .settled = {0}};
}

std::unique_ptr<RowSource> open_rows(std::vector<RowFile> files, const RowOptions& options) {
  return std::make_unique<FileSequence>(std::move(files), options);
}

std::unique_ptr<RowSource> row_window(std::unique_ptr<RowSource> source, int64_t begin, int64_t end) {
  return std::make_unique<RowWindow>(std::move(source), begin, end);
}

std::unique_ptr<RowSource> rows_of_hundreds(std::unique_ptr<RowSource> source, int64_t count,
                                            HundredPart part) {
  return std::make_unique<RowsOfHundreds>(std::move(source), count, part);
}

std::unique_ptr<RowSource> watched_rows(std::unique_ptr<RowSource> source,
                                        std::function<void(const Records&, size_t)> look) {
  return std::make_unique<WatchedRows>(std::move(source), std::move(look));
}

std::unique_ptr<RowSource> row_order(std::unique_ptr<RowSource> source, size_t columns,
                                     std::vector<int64_t> order) {
  return std::make_unique<RowOrder>(std::move(source), columns, std::move(order));
}

}  // namespace hftrain::data
