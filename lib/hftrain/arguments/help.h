// Text about flags for the terminal, from the flag table.
#pragma once

#include <string>

#include "hftrain/arguments/parse.h"

namespace hftrain::arguments {

// The flags by group, one or two lines each. Short: what most runs need; all: every flag, also refused
// ones. Usage and commands are the front program's to add.
std::string help_text(bool all);

// Everything about one flag (any spelling, dashes optional), with its value and origin in `outcome`. Throws
// Error(kUsage) with the nearest names for an unknown one.
std::string explain(const std::string& spelling, const ParseOutcome& outcome);

}  // namespace hftrain::arguments
