// Events of the worker protocol as text, as pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hftrain/base/json.h"
#include "hftrain/base/logger.h"

namespace hftrain::reporting {

// Members of an event's data; one that is not there, or of another kind, is 0 or nothing.
int64_t integer_of(const Json& data, const char* name);
std::optional<double> number_of(const Json& data, const char* name);

// "warning:" and "error:"; "" of lesser levels.
std::string level_word(LogLevel level);

// The whole lines, each with its newline, that an event (Console::event) adds above the live line; "" where it only moves that.
std::string event_lines(std::string_view name, const Json& data);

}  // namespace hftrain::reporting
