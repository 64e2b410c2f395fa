// Reads one configuration file, YAML or JSON, against the flag table, with the position of every value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

struct ConfigFile {
  std::vector<RawArgument> raw;
  std::map<std::string, std::string> environment;  // its `env:` mapping
  Diagnostics notes;
  // Flags by name whose values the Trainer's or TRL's JSON does not show, such as eos_token, and where they stand.
  std::map<std::string, std::string> hidden;
};

// An Accelerate file, known by distributed_type or compute_environment, becomes flags of `accelerate launch`
// at kAccelerateLayer. In any other file top-level keys are flags, groups of flags (`model:`, `data:`, … with
// flags inside) or `env:`. Every plain value is kept as text; the flags' types decide later. Mistakes are
// appended to `problems`, all of them.
ConfigFile read_config_file(const std::string& path, int layer, Diagnostics& problems);

}  // namespace hftrain::arguments
