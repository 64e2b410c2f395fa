// What goes from a repository with a push.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace hftrain::hub {

// Of the files `there` (paths in the repository) those that a push of the files `pushed` replaces without having their names: all others
// below `folder` (empty: none), and beside a model the parts, the index or the one file that it was saved in before, and an adapter, which
// whoever opens it could take for it. Beside an adapter all stays: what is there may be the model that it belongs to.
std::vector<std::string> replaced_files(const std::set<std::string>& there,
                                        const std::set<std::string>& pushed, const std::string& folder);

}  // namespace hftrain::hub
