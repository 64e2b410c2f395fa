// Reads a command line against the flag table. Written by hand rather than with a parsing library because all
// mistakes are reported in one pass, names are looked up in one hash table (help has to answer within
// milliseconds), and the rules of argparse that users rely on (a flag with or without a value, lists that end
// at the next flag) are exact.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

// Forms: --flag value, --flag=value, --flag (booleans and flags with a bare meaning), --no_flag, -x value;
// dashes and underscores are the same; prefixes of flags are not accepted. Mistakes are appended to
// `problems`.
std::vector<RawArgument> read_command_line(std::span<const std::string> words, Diagnostics& problems);

// A command line without mistakes again, less these flags and the names that stand for them.
std::vector<std::string> leave_out(std::span<const std::string> words,
                                   std::span<const std::string_view> flags);

}  // namespace hftrain::arguments
