// Rows of .csv and .tsv files: RFC 4180 with a header row.
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/column_cells.h"
#include "hftrain/data/column_choice.h"
#include "hftrain/data/delimited_records.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

class DelimitedRows final : public RowSource {
 public:
  DelimitedRows(const std::string& path, char delimiter, const RowOptions& options)
      : path_(path), records_(path, delimiter, options.longest_row) {
    if (!records_.next()) throw records_.error("the file is empty").hint("the first line names the columns");
    columns_ = records_.size();
    choose(options.columns);
    if (!options.columns.typed_cells.empty()) look_at_cells(delimiter, options);
  }

  bool next(Records& rows) override {
    if (!records_.next()) return false;
    if (records_.size() > columns_) {
      throw records_
          .error("the record has " + std::to_string(records_.size()) + " fields, the header " +
                 std::to_string(columns_))
          .hint(kQuoteIt);
    }
    rows.begin_row(path_, records_.line());
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (!chosen_[i].name.empty()) set_cell(rows, rows.slot(i), field(chosen_[i]), chosen_[i].form);
    }
    return true;
  }

  uint64_t file_position() const override { return records_.file_position(); }

 private:
  struct Column {
    std::string name;  // empty: not in this file
    size_t place = 0;
    CellForm form = CellForm::kText;
  };

  void choose(const ColumnRule& rule) {
    std::vector<std::string> names;
    for (size_t i = 0; i < columns_; ++i) names.push_back(records_[i]);
    if (names.front().starts_with(kByteOrderMark)) names.front().erase(0, kByteOrderMark.size());
    if (!std::all_of(names.begin(), names.end(),
                     [](const std::string& name) { return simdjson::validate_utf8(name); }))
      throw records_.error("the names of the columns are not valid UTF-8").hint(kConvertIt);
    for (const std::string& name :
         chosen_columns(rule, names, path_ + ':' + std::to_string(records_.line()))) {
      const auto place = std::find(names.begin(), names.end(), name);
      if (place != names.end() && std::find(place + 1, names.end(), name) != names.end())
        throw records_.error("two columns are called '" + name + "'")
            .hint("give every column a name of its own");
      chosen_.push_back({name, static_cast<size_t>(place - names.begin())});
    }
    for (const size_t column : rule.typed_cells) chosen_[column].form = CellForm::kOneByOne;
  }

  // Reads the first rows twice. What cannot be read twice has cells that speak for themselves; what is wrong with a record is said
  // when its row comes.
  void look_at_cells(char delimiter, const RowOptions& options) {
    if (!std::filesystem::is_regular_file(path_)) return;
    DelimitedRecords again(path_, delimiter, options.longest_row);
    std::vector<CellForms> forms(chosen_.size());
    try {
      again.next();
      for (size_t row = 0; row < kRowsThatDecide && again.next(); ++row) {
        for (const size_t column : options.columns.typed_cells) {
          const size_t place = chosen_[column].place;
          if (!chosen_[column].name.empty() && place < again.size()) forms[column].look_at(again[place]);
        }
      }
    } catch (const Error&) {
      return;
    }
    for (const size_t column : options.columns.typed_cells) chosen_[column].form = forms[column].form();
  }

  const std::string& field(const Column& column) const {
    if (column.place >= records_.size())
      throw records_.error("the record ends before its column '" + column.name + "'").hint(kQuoteIt);
    const std::string& field = records_[column.place];
    if (!simdjson::validate_utf8(field))
      throw records_.error("the column '" + column.name + "' is not valid UTF-8").hint(kConvertIt);
    return field;
  }

  std::string path_;
  DelimitedRecords records_;
  size_t columns_ = 0;
  std::vector<Column> chosen_;
};

}  // namespace

std::unique_ptr<RowSource> open_delimited_rows(const std::string& path, char delimiter,
                                               const RowOptions& options) {
  return std::make_unique<DelimitedRows>(path, delimiter, options);
}

}  // namespace hftrain::data
