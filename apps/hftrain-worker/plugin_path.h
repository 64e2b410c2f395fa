// Where this program's plug-ins lie.
#pragma once

#include <string>

namespace hftrain::worker {

// In ../lib beside this program's folder.
std::string plugin_path(const char* name);

}  // namespace hftrain::worker
