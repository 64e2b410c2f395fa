// What the name of a file says of the rows in it.
#pragma once

#include <optional>
#include <string>

#include "hftrain/data/row_source.h"

namespace hftrain::data {

// By the ending, before .gz or .zst where the format may be compressed; nothing when it is none of rows.
std::optional<RowFormat> row_format(const std::string& path);

}  // namespace hftrain::data
