// Rows of files, and of every row the columns that were asked for: what one example is before it is encoded.
//
// A row is a line of a .txt or .md file, whose one column is `text`, or a record of a .jsonl, .json, .csv or
// .tsv file; every one of them may be compressed (.gz, .zst). Or a row of a .parquet file. Rows, their order and their text are those of
// the `datasets` package 5.2 where that package does not fail; docs/data.md lists the differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/data/records.h"

namespace hftrain::data {

// How the first file of a run that names its columns calls those that a rule takes of it.
struct SettledColumns {
  std::string file;
  std::vector<std::string> names;  // by column of the rule
};

// Which columns of a file are read. Each file is asked once, by the names of its columns: of a .csv file
// those of the header, of a file of records the fields of the first one, of a text file `text`.
struct ColumnRule {
  size_t columns = 1;
  // The name of each column, `columns` of them; "" for one that the file need not have, which is null in
  // every row. Throws an Error when a column that is needed is not there; the source says where.
  std::function<std::vector<std::string>(const std::vector<std::string>& names)> choose;
  // Every value must be a string, as cells of .csv and .tsv files are anyway; but for those of typed_cells.
  bool text_only = true;
  // Columns, by number, whose cells in .csv and .tsv files are numbers where they look like such: all other
  // cells are text. In records their values are of one kind in a file.
  std::vector<size_t> typed_cells = {};
  // Columns, by number and name, that some records of a file have and others lack, which are then null: looked for in all of
  // them, whatever the first one has.
  std::vector<std::pair<size_t, std::string>> of_some_records = {};
  std::vector<size_t> never_null =
      {};  // columns, by number, with a value in every record where a file has them
  // Columns, by number, whose values are classes: numbers that a file declares to stand for names are read as these names. In all
  // other columns they are numbers.
  std::vector<size_t> of_classes = {};
  // A column of images: its values are paths, and in Parquet files also bytes, or objects of both, as datasets' Image has
  // them. Bytes go to another column, which has no name in a file.
  struct Images {
    size_t path = 0, bytes = 0;  // numbers of columns
  };
  std::optional<Images> of_images = std::nullopt;
  // Columns, by number, that the first file of a run chooses for all of its files: a file that does not call them so is refused,
  // whatever else it has. The other columns each file chooses for itself.
  std::vector<size_t> settled = {};
  std::vector<size_t> dispensable = {};  // of the settled ones, by number: null in a file without them
  // What the first file has chosen; not set: each file chooses for itself.
  std::shared_ptr<const SettledColumns> first = nullptr;
};

// One column: `text` when there is such a one, else the first.
ColumnRule text_column();

struct RowOptions {
  bool keep_linebreaks = true;  // a row of a .txt file ends with the "\n" that its line ended with
  // Bytes of one row as it stands in the file, decompressed: a file that is none of its kind, or one that
  // swells from a few bytes, must not take all memory.
  size_t longest_row = size_t{1} << 30;
  ColumnRule columns = text_column();
};

// The fields of one record of a .csv or .tsv file.
inline constexpr size_t kMostFields = 100'000;

// Used by one thread. Every mistake in a file is an Error (exit code 4) with file:line.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Adds the next row to `records`, which have as many columns as the rule; false at the end.
  virtual bool next(Records& records) = 0;
  // Bytes of the files consumed so far, for progress.
  virtual uint64_t file_position() const = 0;
  // Of a column of classes (ColumnRule::of_classes) whose values the files declare to be such, all of their names in the order of their numbers, and its values are
  // texts then; empty otherwise. Known once a row has been read.
  virtual std::vector<std::string> class_names(size_t /*column*/) const { return {}; }
};

enum class RowFormat { kText, kJsonLines, kJson, kCsv, kTsv, kImageFolder, kLinePairs, kParquet };

// The rows of one file, by the extension of its name.
std::unique_ptr<RowSource> open_text_rows(const std::string& path, const RowOptions& options);
std::unique_ptr<RowSource> open_json_lines_rows(const std::string& path, const RowOptions& options);
std::unique_ptr<RowSource> open_json_rows(const std::string& path, const RowOptions& options);
std::unique_ptr<RowSource> open_delimited_rows(const std::string& path, char delimiter,
                                               const RowOptions& options);
// By the plug-in that parquet_plugin.h loads; an Error (exit code 3) where there is none. Its lines are numbers of rows.
std::unique_ptr<RowSource> open_parquet_rows(const std::string& path, const RowOptions& options);

// Lines of NAME.source, and those of NAME.target beside them: the columns `source` and `target`. A line without its
// counterpart, or an empty one, is an Error.
std::unique_ptr<RowSource> open_line_pairs(const std::string& path, const RowOptions& options);
// NAME.target of NAME.source.
std::string target_of_pair(const std::string& source_path);

struct RowFile {
  std::string path;
  RowFormat format = RowFormat::kText;
};

// The rows of all files, one file after another.
std::unique_ptr<RowSource> open_rows(std::vector<RowFile> files, const RowOptions& options);

// Rows [begin, end) of `source`; end -1 means all that follow.
std::unique_ptr<RowSource> row_window(std::unique_ptr<RowSource> source, int64_t begin, int64_t end);

// Which rows of every hundred: those before a number, or the others.
enum class HundredPart { kFirst, kRest };

// Of every hundred rows of `source` the first `count`, or the rest.
std::unique_ptr<RowSource> rows_of_hundreds(std::unique_ptr<RowSource> source, int64_t count,
                                            HundredPart part);

// The rows of `source`; `look` is called with each when it has been read.
std::unique_ptr<RowSource> watched_rows(std::unique_ptr<RowSource> source,
                                        std::function<void(const Records& records, size_t row)> look);

// Rows `order` of `source`, in that order, each once; `columns` of them. Where it is another order than the source's they
// hold no lists and no objects, and all of them are kept in memory.
std::unique_ptr<RowSource> row_order(std::unique_ptr<RowSource> source, size_t columns,
                                     std::vector<int64_t> order);

}  // namespace hftrain::data
