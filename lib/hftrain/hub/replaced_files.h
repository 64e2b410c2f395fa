// What goes from a repository with a push.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace hftrain::hub {

// Whether a push of these files brings a whole model.
bool brings_model(const std::vector<std::string>& pushed);
// Patterns (base/path_pattern.h) of what such a push takes from the repository, but for the files that it brings: the parts, the index or
// the one file that a model was saved in before, and an adapter, which whoever opens it could take for it.
const std::vector<std::string>& replaced_by_model();

// Of the files `there` (paths in the repository) those that a push of the files `pushed` replaces without having their names: all others
// below `folder` (empty: none), and what a model replaces. Beside an adapter all stays: what is there may be the model that it belongs to.
std::vector<std::string> replaced_files(const std::set<std::string>& there,
                                        const std::set<std::string>& pushed, const std::string& folder);

}  // namespace hftrain::hub
