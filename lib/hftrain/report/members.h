// Members of objects that may hold anything, since files of a run can be damaged or another's: one that is not of the kind asked
// for is as if it were not there.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::report {

// Steps and counts beyond this are no counts; a double holds whole numbers up to it.
inline constexpr double kLargestCount = 0x1p53;

// A finite number.
double number_or(const Json& object, const char* name, double otherwise);
std::string text_or(const Json& object, const char* name, const std::string& otherwise);
// An object; an empty one otherwise.
const Json& object_or_empty(const Json& object, const char* name);

// Unix seconds that a calendar knows, up to the year 9999; 0 for all others.
double time_or_none(double seconds);

}  // namespace hftrain::report
