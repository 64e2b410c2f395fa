// Rows of two text files of as many lines, as older translation data lie on disk.
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/column_choice.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {
namespace {

constexpr std::string_view kSourceEnding = ".source", kTargetEnding = ".target";
constexpr const char* kCounterpartHint = "line N of one file belongs to line N of the other";

class LinePairs final : public RowSource {
 public:
  LinePairs(const std::string& path, const RowOptions& options)
      : path_(path),
        sources_(path, LineReader::Newlines::kUniversal, options.longest_row),
        targets_(target_of_pair(path), LineReader::Newlines::kUniversal, options.longest_row),
        names_(chosen_columns(unsettled(options.columns), {"source", "target"}, path)) {}

  bool next(Records& records) override {
    const bool has_source = read(sources_, source_), has_target = read(targets_, target_);
    if (has_source != has_target) throw no_counterpart(has_source);
    if (!has_source) return false;
    for (const auto& [line, reader] : {std::pair(&source_, &sources_), {&target_, &targets_}})
      if (line->empty()) throw reader->error("the line is empty").hint(kCounterpartHint);
    records.begin_row(path_, sources_.line_number());
    for (size_t column = 0; column < names_.size(); ++column) {
      if (!names_[column].empty())
        records.set_text(records.slot(column), names_[column] == "source" ? source_ : target_);
    }
    return true;
  }

  uint64_t file_position() const override { return sources_.file_position() + targets_.file_position(); }

 private:
  // Whatever the columns of other files are called: these have no names.
  static ColumnRule unsettled(ColumnRule rule) {
    rule.first = nullptr;
    return rule;
  }

  static bool read(LineReader& reader, std::string& line) {
    line.clear();
    if (reader.next(line) == LineReader::Ending::kNothingLeft) return false;
    require_utf8(line, reader);
    return true;
  }

  Error no_counterpart(bool has_source) const {
    const LineReader &longer = has_source ? sources_ : targets_, &shorter = has_source ? targets_ : sources_;
    return longer.error("the other file has only " + std::to_string(shorter.line_number()) + " lines")
        .hint(kCounterpartHint);
  }

  std::string path_;
  LineReader sources_, targets_;
  std::vector<std::string> names_;
  std::string source_, target_;
};

}  // namespace

std::string target_of_pair(const std::string& source_path) {
  return source_path.substr(0, source_path.size() - kSourceEnding.size()) + std::string(kTargetEnding);
}

std::unique_ptr<RowSource> open_line_pairs(const std::string& path, const RowOptions& options) {
  return std::make_unique<LinePairs>(path, options);
}

}  // namespace hftrain::data
