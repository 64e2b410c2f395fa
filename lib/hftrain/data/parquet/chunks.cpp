#include "hftrain/data/parquet/chunks.h"

#include <arrow/util/compression.h>
#include <parquet/exception.h>

#include <algorithm>
#include <memory>

#include "hftrain/data/parquet/problems.h"

namespace hftrain::data {
namespace {

// Rows are read together until they have so many bytes, going by what the file says of itself.
constexpr int64_t kBatchBytes = 4 << 20, kMostBatchRows = 1024;

std::unique_ptr<parquet::ColumnChunkMetaData> chunk_of(const parquet::RowGroupMetaData& group, int leaf,
                                                       const std::string& name, bool has_secrets) {
  const ParquetProblem secret{name, 0, "it is encrypted", kNoKeys};
  try {
    auto chunk = group.ColumnChunk(leaf);
    if (chunk->crypto_metadata()) throw secret;
    return chunk;
  } catch (const parquet::ParquetException&) {  // what is said of an encrypted column cannot be read either
    if (has_secrets) throw secret;
    throw;
  }
}

}  // namespace

void check_chunks(const parquet::FileMetaData& metadata, int leaf, const std::string& name) {
  for (int group = 0; group < metadata.num_row_groups(); ++group) {
    const auto chunk =
        chunk_of(*metadata.RowGroup(group), leaf, name, metadata.is_encryption_algorithm_set());
    if (!arrow::util::Codec::IsAvailable(chunk->compression()))
      throw ParquetProblem{name, 0,
                           "it is compressed by '" +
                               arrow::util::Codec::GetCodecAsString(chunk->compression()) +
                               "', which this Arrow cannot undo",
                           "write the file with zstd, snappy or gzip"};
  }
}

int64_t rows_of_a_batch(const parquet::FileMetaData& metadata, const std::vector<int>& leaves) {
  int64_t most = kMostBatchRows;
  for (int group = 0; group < metadata.num_row_groups(); ++group) {
    const auto of_group = metadata.RowGroup(group);
    double bytes = 0;
    for (const int leaf : leaves)
      bytes += static_cast<double>(of_group->ColumnChunk(leaf)->total_uncompressed_size());
    const double each = bytes / static_cast<double>(std::max<int64_t>(of_group->num_rows(), 1));
    if (each > static_cast<double>(kBatchBytes) / kMostBatchRows)
      most = std::min(most, std::max<int64_t>(1, static_cast<int64_t>(kBatchBytes / each)));
  }
  return most;
}

}  // namespace hftrain::data
