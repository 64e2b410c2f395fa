// Decides which of the given values counts for every flag: types are checked, old names become new ones, the
// latest layer wins, and what this build does not do is refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hftrain/arguments/given.h"
#include "hftrain/arguments/parse.h"

namespace hftrain::arguments {

// Sets outcome.arguments, origins and unread, appends warnings to outcome.notes, mistakes to `problems` and
// what this build does not do to `unsupported`. `home` replaces a leading ~ in paths.
void merge(const std::vector<Given>& given, const std::string& home, ParseOutcome& outcome,
           Diagnostics& problems, Diagnostics& unsupported);

}  // namespace hftrain::arguments
