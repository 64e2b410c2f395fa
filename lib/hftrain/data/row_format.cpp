#include "hftrain/data/row_format.h"

#include <filesystem>

#include "hftrain/base/text.h"

namespace hftrain::data {

std::optional<RowFormat> row_format(const std::string& path) {
  std::filesystem::path name(to_lower(path));
  if (name.extension() == ".parquet") return RowFormat::kParquet;
  if (name.extension() == ".gz" || name.extension() == ".zst") name.replace_extension();
  const std::string extension = name.extension().string();
  if (extension == ".txt" || extension == ".md") return RowFormat::kText;
  if (extension == ".jsonl") return RowFormat::kJsonLines;
  if (extension == ".json") return RowFormat::kJson;
  if (extension == ".csv") return RowFormat::kCsv;
  if (extension == ".tsv") return RowFormat::kTsv;
  if (path.ends_with(".source")) return RowFormat::kLinePairs;
  return std::nullopt;
}

}  // namespace hftrain::data
