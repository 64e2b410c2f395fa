// Homes and variables in paths: expanded_path() as Python's os.path.expandvars(os.path.expanduser(path)) has them, which huggingface_hub asks of its variables.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/environment.h"

namespace hftrain {

// `home` in the place of a `~` before the first slash; other people's homes (~name) stay, and all where `home` is empty.
std::string with_home(std::string_view path, const std::string& home);

// With HOME, and with the values of $NAME and ${NAME}; unknown ones stay.
std::string expanded_path(std::string_view path, const Environment& environment);

}  // namespace hftrain
