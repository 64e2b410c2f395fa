// Rows of sample data under the names that a configuration asks for.
#pragma once

#include <string>

#include "hftrain/arguments/arguments.h"
#include "hftrain/tasks/task.h"

namespace hftrain::front {

// JSON lines for a task whose data are rows: about `bytes` bytes, drawn with `seed`.
std::string sample_rows(tasks::Task task, const arguments::Arguments& asked, uint64_t seed, int64_t bytes);

// Whether pictures have to be named by rows: a folder of them has no columns.
bool names_image_columns(const arguments::Arguments& asked);
// A line that names the picture of this path below its class.
std::string sample_image_row(const arguments::Arguments& asked, const std::string& path);

}  // namespace hftrain::front
