// Rows of .parquet files, whose pages the plug-in reads.
#include <algorithm>
#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/data/class_names.h"
#include "hftrain/data/column_choice.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/parquet_plugin.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

constexpr const char* kOtherTypes =
    "write it as text, numbers or booleans, or lists and structures of them, or name other columns";

class SlotsOfRecords final : public ValueSlots {
 public:
  SlotsOfRecords(Records& records, int64_t row) : records_(records), row_(row) {}
  std::string column;                               // whose value is copied
  const std::vector<std::string>* names = nullptr;  // of the classes that its numbers stand for
  void set_boolean(size_t slot, bool value) override { records_.set_boolean(slot, value); }
  void set_integer(size_t slot, int64_t value) override {
    if (names == nullptr) return records_.set_integer(slot, value);
    if (value == -1) return;  // a row without a class, as datasets has it
    if (value < 0 || value >= static_cast<int64_t>(names->size()))
      throw ParquetProblem{column, row_,
                           "a value is " + std::to_string(value) + ", and there are " +
                               std::to_string(names->size()) + " classes",
                           "write the file with the features that belong to it"};
    records_.set_text(slot, (*names)[static_cast<size_t>(value)]);
  }
  void set_number(size_t slot, double value) override {
    if (!std::isfinite(value))
      throw ParquetProblem{column, row_, "a value is not a finite number",
                           "put a number into every row, or leave the row out"};
    records_.set_number(slot, value);
  }
  void set_text(size_t slot, std::string_view text) override { records_.set_text(slot, text); }
  size_t set_list(size_t slot, size_t size) override { return records_.set_list(slot, size); }
  size_t set_object(size_t slot, size_t size) override { return records_.set_object(slot, size); }

 private:
  Records& records_;
  int64_t row_;
};

// An image as datasets' Image has it, {"bytes": …, "path": …}, or one of the two alone: into a column for each.
class SlotsOfImage final : public ValueSlots {
 public:
  // `bytes_alone`: a value that is no object is bytes, not a path.
  SlotsOfImage(Records& records, const ColumnRule::Images& columns, bool bytes_alone)
      : records_(records), columns_(columns), bytes_alone_(bytes_alone) {}

  void set_boolean(size_t, bool value) override {
    if (!in_object_) records_.set_boolean(path(), value);
  }
  void set_integer(size_t, int64_t value) override {
    if (!in_object_) records_.set_integer(path(), value);
  }
  void set_number(size_t, double value) override {
    if (!in_object_) records_.set_number(path(), value);
  }
  void set_text(size_t slot, std::string_view text) override {
    if (!in_object_) return records_.set_text(bytes_alone_ ? bytes() : path(), text);
    if (slot % 2 == 0) {
      key_ = text;
    } else if (key_ == "bytes") {
      records_.set_text(bytes(), text);
    } else if (key_ == "path") {
      records_.set_text(path(), text);
    }
  }
  // Of what an image is not; nothing of it is kept.
  size_t set_list(size_t, size_t) override {
    in_object_ = true;
    return 0;
  }
  size_t set_object(size_t, size_t) override {
    in_object_ = true;
    return 0;
  }

 private:
  size_t path() const { return records_.slot(columns_.path); }
  size_t bytes() const { return records_.slot(columns_.bytes); }

  Records& records_;
  ColumnRule::Images columns_;
  bool bytes_alone_;
  bool in_object_ = false;
  std::string key_;
};

class ParquetRows final : public RowSource {
 public:
  ParquetRows(const std::string& path, const RowOptions& options)
      : path_(path),
        longest_(options.longest_row),
        rule_(options.columns),
        kinds_(rule_),
        bytes_(bytes_of_file(path)),
        reader_(opened(path)) {
    choose();
  }

  bool next(Records& records) override {
    if (!told([&] { return reader_->next(); })) return false;
    records.begin_row(path_, ++row_);
    const size_t before = records.text_bytes();
    for (const Column& column : chosen_) {
      copy(column, records);
      const auto problem =
          kinds_.refuse(column.number, column.name, records.value(records.rows() - 1, column.number).kind());
      if (problem)
        throw error(problem->why, row_)
            .hint(problem->hint.empty() ? "put a string into every row" : problem->hint);
    }
    if (records.text_bytes() - before > longest_)
      throw error(too_long("the row", longest_), row_).hint(kSplitIt);
    return true;
  }

  uint64_t file_position() const override {
    return static_cast<uint64_t>(reader_->share_read() * static_cast<double>(bytes_));
  }

  std::vector<std::string> class_names(size_t column) const override {
    const auto found = std::find_if(chosen_.begin(), chosen_.end(),
                                    [&](const Column& each) { return each.number == column; });
    return found == chosen_.end() ? std::vector<std::string>() : found->classes;
  }

 private:
  struct Column {
    size_t number;  // among those of the rule
    size_t place;   // among those that are read
    std::string name;
    std::vector<std::string> classes;  // that its numbers stand for; empty: for themselves
    bool holds_bytes = false;
  };

  bool holds_images(size_t number) const { return rule_.of_images && rule_.of_images->path == number; }

  void copy(const Column& column, Records& records) {
    if (holds_images(column.number)) {
      SlotsOfImage slots(records, *rule_.of_images, column.holds_bytes);
      return told([&] { reader_->copy(column.place, 0, slots); });
    }
    SlotsOfRecords slots(records, row_);
    slots.column = column.name;
    slots.names = column.classes.empty() ? nullptr : &column.classes;
    told([&] { reader_->copy(column.place, records.slot(column.number), slots); });
  }

  std::unique_ptr<ParquetReader> opened(const std::string& path) const {
    const ParquetPlugin& plugin = load_parquet_plugin(parquet_plugin_path(), path);
    return told([&] { return plugin.open(path); });
  }

  Error error(const std::string& why, int64_t row) const {
    return Error(ExitCode::kData, "cannot read a data file")
        .where(row > 0 ? path_ + ':' + std::to_string(row) : path_)
        .why(why)
        .hint(kMendIt);
  }

  // What the plug-in says is wrong, in the words of this program.
  template <typename Call>
  auto told(const Call& call) const -> decltype(call()) {
    try {
      return call();
    } catch (const ParquetProblem& problem) {
      const std::string column = problem.column.empty() ? "" : "the column '" + problem.column + "': ";
      throw error(column + problem.why, problem.row)
          .hint(problem.hint.empty() ? "see whether the file is of that kind" : problem.hint);
    }
  }

  void choose() {
    const std::vector<ParquetColumn> columns = reader_->columns();
    std::vector<std::string> names;
    for (const ParquetColumn& column : columns) names.push_back(column.name);
    std::vector<std::string> wanted = chosen_columns(rule_, names, path_);
    for (const auto& [number, name] : rule_.of_some_records) wanted[number] = name;
    auto classes = class_names_of(reader_->features());
    std::vector<size_t> places;
    for (size_t number = 0; number < wanted.size(); ++number) {
      const auto found = std::find(names.begin(), names.end(), wanted[number]);
      if (wanted[number].empty() || (found == names.end() && may_lack(rule_, number))) continue;
      check(columns, wanted[number], holds_images(number));
      const auto column = static_cast<size_t>(found - names.begin());
      const auto known = std::find(places.begin(), places.end(), column);
      chosen_.push_back({number,
                         static_cast<size_t>(known - places.begin()),
                         wanted[number],
                         {},
                         columns[column].holds_bytes});
      if (holds_classes(rule_, number)) chosen_.back().classes = classes[wanted[number]];
      if (known == places.end()) places.push_back(column);
    }
    told([&] { reader_->select(places); });
  }

  void check(const std::vector<ParquetColumn>& columns, const std::string& name, bool of_images) const {
    const auto is_it = [&](const ParquetColumn& column) { return column.name == name; };
    const auto column = std::find_if(columns.begin(), columns.end(), is_it);
    if (column == columns.end())
      throw error("there is no column '" + name + "'", 0).hint("name one that is there");
    if (std::count_if(columns.begin(), columns.end(), is_it) > 1)
      throw error("two columns are called '" + name + "'", 0).hint("give every column a name of its own");
    if (!column->unreadable.empty() && !(of_images && column->holds_bytes))
      throw error("the column '" + name + "' holds values of the type " + column->unreadable +
                      ", which no task takes",
                  0)
          .hint(kOtherTypes);
  }

  std::string path_;
  size_t longest_;
  ColumnRule rule_;
  ValueKinds kinds_;
  uint64_t bytes_;
  std::unique_ptr<ParquetReader> reader_;
  std::vector<Column> chosen_;
  int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> open_parquet_rows(const std::string& path, const RowOptions& options) {
  return std::make_unique<ParquetRows>(path, options);
}

}  // namespace hftrain::data
