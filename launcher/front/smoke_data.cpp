#include "launcher/front/smoke_data.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/column_file.h"
#include "hftrain/data/column_writer.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

bool is_small(const data::DataFiles& files, uint64_t most_bytes) {
  constexpr uint64_t kTextCompresses = 8;  // at the most, or nearly so
  uint64_t bytes = 0;
  for (const std::string& path : files.paths()) {
    std::error_code unreadable;  // whoever reads it will say why
    const uintmax_t size = fs::file_size(path, unreadable);
    const bool compressed = path.ends_with(".gz") || path.ends_with(".zst") || path.ends_with(".parquet");
    if (!unreadable) bytes += size * (compressed ? kTextCompresses : 1);
  }
  return bytes <= most_bytes;
}

std::string cut_rows(const data::DataFiles& files, bool keep_linebreaks, uint64_t most_bytes,
                     const std::string& path) {
  const auto rows = data::open_rows(files.rows, {.keep_linebreaks = keep_linebreaks});
  create_directories(fs::path(path).parent_path().string());
  std::ofstream copy(path, std::ios::binary);
  uint64_t bytes = 0;
  for (data::Records row; bytes < most_bytes && rows->next(row); row.clear()) {
    const std::string text(row.value(0, 0).text());
    copy << dump_json({{"text", text}}, -1) << '\n';
    bytes += text.size();
  }
  copy.close();
  if (!copy)
    throw Error(ExitCode::kDisk, "cannot write")
        .where(path)
        .why("the disk is full, or no file can be made")
        .hint("free space there, or name another temporary folder with TMPDIR");
  return path;
}

std::string cut_tokens(const data::DataFiles& files, uint64_t most_bytes, const std::string& prefix) {
  create_directories(fs::path(prefix).parent_path().string());
  data::ColumnWriter copy(prefix, std::numeric_limits<int32_t>::max());
  const auto most = static_cast<int64_t>(most_bytes / sizeof(int32_t));
  for (const std::string& source : files.token_prefixes) {
    const auto tokens = data::ColumnFile::open(source);
    for (int64_t i = 0; i < tokens->size() && copy.tokens() < most; ++i) {
      std::vector<int64_t> wide(static_cast<size_t>(tokens->length(i)));
      tokens->copy_to(i, wide.data());
      copy.add(std::vector<int32_t>(wide.begin(), wide.end()));
    }
  }
  copy.finish();
  return prefix + ".bin";
}

}  // namespace

std::vector<std::string> cut_data(const std::vector<std::string>& patterns, data::Split split,
                                  bool keep_linebreaks, uint64_t most_bytes, const std::string& folder) {
  if (patterns.empty()) return {};
  const data::DataFiles files = data::find_data_files(patterns, split);
  if (is_small(files, most_bytes)) return patterns;
  const std::string place = folder + '/' + data::split_name(split);
  return {files.tokenized() ? cut_tokens(files, most_bytes, place)
                            : cut_rows(files, keep_linebreaks, most_bytes, place + ".jsonl")};
}

}  // namespace hftrain::front
