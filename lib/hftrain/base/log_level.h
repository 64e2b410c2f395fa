// The words for log levels in flags and variables: those of transformers.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/environment.h"
#include "hftrain/base/logger.h"

namespace hftrain {

// "detail" and "debug" are the same; any other word than these two, info, warning, error and critical is
// `otherwise`. Case does not matter.
LogLevel log_level_named(std::string_view word, LogLevel otherwise);
// "debug", "info", …
std::string log_level_name(LogLevel level);

// What --log_level and --log_level_replica come to: "passive" leaves it to TRANSFORMERS_VERBOSITY, and that,
// unset or unknown, to `otherwise`.
LogLevel wanted_log_level(const std::string& asked, const Environment& environment, LogLevel otherwise);

}  // namespace hftrain
