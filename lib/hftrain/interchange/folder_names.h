#pragma once

#include <string>
#include <vector>

namespace hftrain::interchange {

// What stands in a folder, sorted. Error(kData) when it cannot be listed.
std::vector<std::string> names_in_folder(const std::string& folder);

}  // namespace hftrain::interchange
