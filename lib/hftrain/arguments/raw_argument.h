// One value as a user gave it, before its flag's type has looked at it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/flag.h"
#include "hftrain/arguments/yaml_meaning.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

using Diagnostics = std::vector<Diagnostic>;

// Later layers win: environment variables, an Accelerate file, configuration files in their order, the
// command line.
inline constexpr int kEnvironmentLayer = 0;
inline constexpr int kAccelerateLayer = 1;
inline constexpr int kFirstFileLayer = 2;
inline constexpr int kCommandLineLayer = 1'000'000;

// Before a variable's name, in the origin of its value.
inline constexpr std::string_view kEnvironmentOrigin = "environment ";

struct RawArgument {
  const Flag* flag = nullptr;
  std::string spelling;  // as written, with its dashes on the command line
  Json written;
  std::string origin;  // "--flag", "file:line:column" or "environment NAME"
  int layer = kCommandLineLayer;
  std::map<std::string, std::string> places;  // of the parts of a mapping: JSON pointer -> file:line:column
  PlainParts plain = {};                      // of a configuration file
};

// The place for a message: a file position as it is, "command line" for a flag.
inline std::string place(const std::string& origin) {
  return origin.rfind("-", 0) == 0 ? "command line" : origin;
}

}  // namespace hftrain::arguments
