// Rows of text from files: what one example is before it is tokenised.
//
// A row is a line of a .txt or .md file, or the text field of a record of a .jsonl, .json, .csv or .tsv file;
// every one of them may be compressed (.gz, .zst). Rows, their order and their text are those of the
// `datasets` package 5.2 where that package does not fail; docs/data.md lists the differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hftrain::data {

struct RowOptions {
  bool keep_linebreaks = true;  // a row of a .txt file ends with the "\n" that its line ended with
  // Bytes of one row as it stands in the file, decompressed: a file that is none of its kind, or one that
  // swells from a few bytes, must not take all memory.
  size_t longest_row = size_t{1} << 30;
};

// The fields of one record of a .csv or .tsv file.
inline constexpr size_t kMostFields = 100'000;

// Used by one thread. Every mistake in a file is an Error (exit code 4) with file:line.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Appends the text of the next row to `text`; false at the end.
  virtual bool next(std::string& text) = 0;
  // Bytes of the files consumed so far, for progress.
  virtual uint64_t file_position() const = 0;
};

enum class RowFormat { kText, kJsonLines, kJson, kCsv, kTsv };

// The rows of one file, by the extension of its name.
std::unique_ptr<RowSource> open_text_rows(const std::string& path, const RowOptions& options);
std::unique_ptr<RowSource> open_json_lines_rows(const std::string& path, const RowOptions& options);
std::unique_ptr<RowSource> open_json_rows(const std::string& path, const RowOptions& options);
std::unique_ptr<RowSource> open_delimited_rows(const std::string& path, char delimiter,
                                               const RowOptions& options);

struct RowFile {
  std::string path;
  RowFormat format = RowFormat::kText;
};

// The rows of all files, one file after another.
std::unique_ptr<RowSource> open_rows(std::vector<RowFile> files, const RowOptions& options);

// Rows [begin, end) of `source`; end -1 means all that follow.
std::unique_ptr<RowSource> row_window(std::unique_ptr<RowSource> source, int64_t begin, int64_t end);

}  // namespace hftrain::data
