// An error for the terminal of another machine than the one that showed it: what happened and why. Where, and what to do, are
// matters of that machine.
#pragma once

#include <string>

#include "hftrain/base/error.h"

namespace hftrain::front {

// "what: why"; of a reason of several lines the first.
std::string in_a_line(const Diagnostic& diagnostic);
// The same of a text that Error::render() has made, perhaps elsewhere; of several mistakes the first.
std::string in_a_line(const std::string& shown);

}  // namespace hftrain::front
