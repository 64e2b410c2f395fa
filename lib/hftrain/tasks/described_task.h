// Tasks of plug-ins among those of the table.
#pragma once

#include <deque>
#include <string>

#include "hftrain/tasks/task.h"
#include "hftrain/tasks/task_description.h"

namespace hftrain::tasks {

// Reads `description` and adds its task to the table for the rest of the process; before the first thread, once per process and task (the
// same text again changes nothing). Error (kUsage) where the text is no description, or names a task that there is already; `origin` names
// the file.
void add_described_task(const std::string& description, const std::string& origin);

// Null for a task of hftrain's own.
const TaskDescription* description_of(Task task);
// Of added tasks, in order.
const std::deque<TaskDescription>& described_tasks();

}  // namespace hftrain::tasks
