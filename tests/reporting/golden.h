// The golden files of this folder, with their texts "float:nan" turned back into numbers.
#pragma once

#include <cstdlib>
#include <string>

#include "hftrain/base/json.h"
#include "support/paths.h"

namespace hftrain::testing {

inline Json restored(Json value) {
  if (value.is_string() && value.get<std::string>().rfind("float:", 0) == 0) {
    return std::strtod(value.get<std::string>().c_str() + 6, nullptr);
  }
  if (value.is_structured()) {
    for (auto& item : value) item = restored(item);
  }
  return value;
}

inline Json golden(const std::string& name) {
  return read_json_file(source_dir() + "/tests/golden/reporting/" + name);
}

}  // namespace hftrain::testing
