// Rows of .txt files: lines.
#include "hftrain/base/error.h"
#include "hftrain/data/column_choice.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

class TextRows final : public RowSource {
 public:
  TextRows(const std::string& path, const RowOptions& options)
      : path_(path), lines_(path, LineReader::Newlines::kUniversal, options.longest_row), options_(options) {}

  bool next(Records& records) override {
    if (!chosen_) choose();
    records.begin_row(path_, lines_.line_number() + 1);
    std::string& text = records.open_text();
    const size_t begin = text.size();
    const LineReader::Ending ending = lines_.next(text);
    if (ending == LineReader::Ending::kNothingLeft) {
      records.drop_last_row();
      return false;
    }
    require_utf8(std::string_view(text).substr(begin), lines_);
    if (ending == LineReader::Ending::kNewline && options_.keep_linebreaks) text += '\n';
    for (size_t column = 0; column < names_.size(); ++column) {
      if (!names_[column].empty()) records.close_text(records.slot(column), begin);
    }
    return true;
  }

  uint64_t file_position() const override { return lines_.file_position(); }

 private:
  void choose() {
    names_ = columns_of_lines(options_.columns, path_);
    chosen_ = true;
  }

  std::string path_;
  LineReader lines_;
  RowOptions options_;
  std::vector<std::string> names_;
  bool chosen_ = false;
};

}  // namespace

std::unique_ptr<RowSource> open_text_rows(const std::string& path, const RowOptions& options) {
  return std::make_unique<TextRows>(path, options);
}

}  // namespace hftrain::data
