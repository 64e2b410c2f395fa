// Loading of the plug-in that reads Parquet files. The program links no Arrow and runs where there is none.
#pragma once

#include <string>

#include "hftrain/data/parquet/interface.h"

namespace hftrain::data {

// Where it lies: lib/libhftrain_parquet.so beside the folder of the running program.
std::string parquet_plugin_path();

// Loads the plug-in at `path` and keeps it for the life of the process. kEnvironment when there is none, or Arrow is not
// where it was, with the loader's reason and `file` as the place.
const ParquetPlugin& load_parquet_plugin(const std::string& path, const std::string& file);

}  // namespace hftrain::data
