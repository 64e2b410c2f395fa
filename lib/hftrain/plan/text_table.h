// Text in aligned columns, and what stands in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hftrain::plan {

// One line per row, columns padded to their widest cell and two blanks apart, each line led by `indent`
// blanks. The last column is not padded.
std::string format_table(const std::vector<std::vector<std::string>>& rows, size_t indent = 0);

std::string bytes_text(int64_t count);  // 1536 -> "1.5 KiB"; below zero as zero

}  // namespace hftrain::plan
