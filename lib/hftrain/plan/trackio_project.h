// --project, the name under which Trackio keeps runs together.
#pragma once

#include <string>

#include "hftrain/plan/problems.h"

namespace hftrain::plan {

// Names that the package would take no record of: an empty one, and those whose files it keeps for itself
// (SQLiteStorage.validate_project_name). `origin`: where the name was given.
void check_trackio_project(const std::string& project, const std::string& origin, Problems& problems);

}  // namespace hftrain::plan
