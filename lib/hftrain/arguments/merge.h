// Decides which of the given values counts for every flag: types are checked, old names become new ones, the
// latest layer wins, and what this build does not do is refused.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

// Sets outcome.arguments, origins and unread, appends warnings to outcome.notes, mistakes to `problems` and
// what this build does not do to `unsupported`. `home` replaces a leading ~ in paths. Returns warnings that
// are advice only: the new names of old ones.
Diagnostics merge(const std::vector<RawArgument>& raw, const std::string& home, ParseOutcome& outcome,
                  Diagnostics& problems, Diagnostics& unsupported);

// What to do about a value of a flag that is not one, when nothing better is known: a hint.
std::string explain(const std::string& flag);

// The places of two that contradict each other: "--a and --b (command line)", or positions in files.
std::string places_of(const RawArgument& one, const RawArgument& other);

// "save_steps is 0, eval_steps is not given": why these flags do not go together, when nothing else is said.
std::string values_of(std::span<const std::string_view> flags, const ParseOutcome& outcome);

}  // namespace hftrain::arguments
