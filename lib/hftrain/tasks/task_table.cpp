#include "hftrain/tasks/task_table.h"

#include <algorithm>

namespace hftrain::tasks {

const std::vector<TaskRow>& task_table() {
  static const std::vector<TaskRow> rows = {
      causal_lm(),           instruction_tuning(),   masked_lm(),          sequence_to_sequence(),
      text_classification(), token_classification(), question_answering(), image_classification(),
  };
  return rows;
}

const TaskRow& row_of(Task task) {
  return task_table()[static_cast<size_t>(task)];
}

std::optional<Task> task_named(std::string_view name) {
  for (const TaskRow& row : task_table()) {
    const auto& others = row.other_names;
    if (row.name == name || std::find(others.begin(), others.end(), name) != others.end()) return row.task;
  }
  return std::nullopt;
}

}  // namespace hftrain::tasks
