#include "hftrain/data/first_rows.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_source.h"
#include "hftrain/data/settled_columns.h"

namespace hftrain::data {
namespace {

// What the first rows of a file show: text that is none, records without the field, a file without rows. Only
// the run reads on.
constexpr size_t kHeadBytes = 256 << 10, kLongestHeadRow = 1 << 20, kMostHeads = 8;
constexpr int kHeadRows = 100;

// Such a row may be right: the run takes longer ones.
bool ends_in_a_long_row(const Error& error) {
  return error.diagnostics().front().why.ends_with(too_long("", kLongestHeadRow));
}

void look_at_head(const RowFile& file, Split split, const PrepareRequest& request) {
  const ColumnRule columns = request.recipe.columns(split);
  const auto rows = open_rows(
      {file},
      {.keep_linebreaks = request.keep_linebreaks, .longest_row = kLongestHeadRow, .columns = columns});
  Records records(columns.columns);
  try {
    for (int row = 0; row < kHeadRows && records.text_bytes() < kHeadBytes && rows->next(records);) ++row;
  } catch (const Error& error) {
    if (!ends_in_a_long_row(error)) throw;
  }
}

}  // namespace

void look_at_first_rows(const SplitRequest& split, const PrepareRequest& request) {
  const std::vector<RowFile>& files = split.files.rows;
  const std::vector<std::string>& prefixes = split.files.token_prefixes;
  const bool empty =
      std::all_of(files.begin(), files.end(), [](const RowFile& file) { return bytes_of(file) == 0; }) &&
      std::all_of(prefixes.begin(), prefixes.end(),
                  [](const std::string& prefix) { return bytes_of_file(prefix + ".bin") == 0; });
  if (empty) throw no_sample(split, 0, request);
  for (size_t i = 0; i < std::min(files.size(), kMostHeads); ++i)
    look_at_head(files[i], split.split, request);
}

void look_at_stream(const PrepareRequest& request) {
  SplitRequest split{Split::kTrain, false, find_data_files(request.train_files, Split::kTrain)};
  look_at_first_rows(split, with_settled_columns(request));
}

}  // namespace hftrain::data
