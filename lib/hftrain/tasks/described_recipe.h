// How the rows of a task become features that a plug-in describes (task_description.h).
#pragma once

#include <optional>

#include "hftrain/tasks/task_description.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {

// Tokens of its longest sample.
int64_t longest_described(const TaskDescription& task, const TaskInput& input);

// TaskRow::recipe and recipe_again. One whose labels only training rows say has no settings.
data::Recipe described_recipe(const TaskDescription& task, const TaskInput& input);
data::Recipe described_recipe_again(const Json& settings);

}  // namespace hftrain::tasks
