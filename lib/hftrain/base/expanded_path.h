// Paths as Python's os.path.expandvars(os.path.expanduser(path)) has them, which huggingface_hub asks of its variables.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/environment.h"

namespace hftrain {

// A `~` before the first slash is HOME, $NAME and ${NAME} are variables; unknown ones, and other people's homes (~name), stay.
std::string expanded_path(std::string_view path, const Environment& environment);

}  // namespace hftrain
