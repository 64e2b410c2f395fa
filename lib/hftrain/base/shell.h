// Words of commands for people to copy, and for shells.
#pragma once

#include <string>

namespace hftrain {

// One word of a POSIX shell: as it is where no shell would see anything in it, else in single quotes.
std::string shell_quoted(const std::string& word);

}  // namespace hftrain
