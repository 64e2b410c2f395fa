// Training rows that the ranks read and encode while they train, as values: what a plan says of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/features.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {

// A file as it was when the run was planned. What is read later has to be the same, or the position in it means nothing.
struct FileStamp {
  std::string path;  // absolute
  RowFormat format = RowFormat::kText;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // since the file system's epoch

  // What tells it from others without reading it: its name, size and time, and not its folder.
  Json key() const;
};

// Error (exit code 4) when it cannot be looked at, or is no file that can be read again from its beginning.
FileStamp stamp_of(const RowFile& file);

enum class ChangedTime { kMatters, kIsIgnored };
// Error (exit code 4) when it is gone or another one. `time`: of a copy on another machine it says nothing.
void check_stamp(const FileStamp& stamp, ChangedTime time);

struct StreamSpec {
  std::vector<FileStamp> files;
  Json recipe;          // settings that the task's row makes the recipe of
  SettledColumns read;  // of the rows, in whichever file; no names: each file chooses
  std::vector<std::string> columns = {kInputIds};  // of a sample
  std::string tokenizer_folder;
  bool keep_linebreaks = true;
  int64_t hold_out_percent = 0;        // rows of every hundred that are validation data; 0: none
  std::optional<int64_t> max_samples;  // of an epoch; unset: all
  int64_t block_size = 0;              // tokens of a sample, where rows are packed
  int64_t threads = 1;                 // of a rank that reads
  // Every rank reads files of its own. Else all ranks that read see the whole of the data.
  bool by_files = false;
  std::string identity;  // a hash of all that decides the samples, but of the files their stamps alone
};

}  // namespace hftrain::data
