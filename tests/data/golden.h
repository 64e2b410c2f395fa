// What the tests of this folder share of the golden files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "support/paths.h"

namespace hftrain::testing {

inline const Json& golden_rows() {
  static const Json kRows = read_json_file(source_dir() + "/tests/golden/data/rows.json");
  return kRows;
}

// The FNV-1a of scripts/golden/data_rows.py and data_samplers.py.
inline std::string digest(const std::vector<int64_t>& values) {
  uint64_t state = 14695981039346656037ull;
  for (const int64_t value : values) state = (state ^ static_cast<uint64_t>(value)) * 1099511628211ull;
  return std::to_string(state);
}

}  // namespace hftrain::testing
