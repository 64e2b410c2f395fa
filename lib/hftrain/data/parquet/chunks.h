// What the metadata of a file say of its column chunks.
#pragma once

#include <parquet/metadata.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hftrain::data {

// Throws a ParquetProblem for what can be known of a leaf column before it is read: encrypted, or compressed by what this Arrow cannot
// undo. `name`: of the column that the leaf is of.
void check_chunks(const parquet::FileMetaData& metadata, int leaf, const std::string& name);

// Rows that are read together, so that they have some megabytes.
int64_t rows_of_a_batch(const parquet::FileMetaData& metadata, const std::vector<int>& leaves);

}  // namespace hftrain::data
