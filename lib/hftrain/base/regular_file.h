// Files of a run or a search that another program has written, and what stands in the place of one.
#pragma once

#include <string>

namespace hftrain {

// Whether something of that name is there. Error(kData) for what is no file: a pipe, say, whose writer reading would wait for.
// `what`: of whom the file is, "the run". What hides it, such as a folder that cannot be searched, is told by whoever reads it.
bool has_regular_file(const std::string& path, const std::string& what);

}  // namespace hftrain
