// Rows of .txt files: lines.
#include "hftrain/base/error.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

class TextRows final : public RowSource {
 public:
  TextRows(const std::string& path, const RowOptions& options)
      : lines_(path, LineReader::Newlines::kUniversal, options.longest_row), options_(options) {}

  bool next(std::string& text) override {
    const size_t begin = text.size();
    const LineReader::Ending ending = lines_.next(text);
    if (ending == LineReader::Ending::kNothingLeft) return false;
    require_utf8(std::string_view(text).substr(begin), lines_);
    if (ending == LineReader::Ending::kNewline && options_.keep_linebreaks) text += '\n';
    return true;
  }

  uint64_t file_position() const override { return lines_.file_position(); }

 private:
  LineReader lines_;
  RowOptions options_;
};

}  // namespace

std::unique_ptr<RowSource> open_text_rows(const std::string& path, const RowOptions& options) {
  return std::make_unique<TextRows>(path, options);
}

}  // namespace hftrain::data
