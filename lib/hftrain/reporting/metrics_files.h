// The results of a split: the block shown to people, and <split>_results.json merged into all_results.json.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

// "***** train metrics *****" and one "  key = value" line per metric, keys sorted, keys left- and values
// right-aligned. Bytes (`_mem_`) in MiB, `_runtime` as h:mm:ss.cc, total_flos in GF, other floats rounded to
// 4 decimals. With a final newline.
std::string format_metrics(const std::string& split, const Json& metrics);

// Writes output_dir/<split>_results.json and updates output_dir/all_results.json, each atomically: raw
// numbers, sorted keys, indent 4, no final newline. An unreadable all_results.json is Error(kData), never
// overwritten.
void save_metrics(const std::string& output_dir, const std::string& split, const Json& metrics);

}  // namespace hftrain::reporting
