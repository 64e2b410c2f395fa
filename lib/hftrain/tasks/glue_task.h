// The sets of GLUE that --task_name names, as run_glue knows their columns.
#pragma once

#include <string>

namespace hftrain::tasks {

struct GlueTask {
  const char *name, *first, *second;  // columns; second null: one text
  bool regression = false;
};

// Upper and lower case are one. Error (exit code 2) for a name that none has.
GlueTask glue_task_named(const std::string& asked);

}  // namespace hftrain::tasks
