#include "hftrain/tasks/task_table.h"

#include <algorithm>
#include <utility>

namespace hftrain::tasks {

namespace {

// References to rows stay.
std::deque<TaskRow>& all_rows() {
  static std::deque<TaskRow> rows = {
      causal_lm(),           instruction_tuning(),   masked_lm(),          sequence_to_sequence(),
      text_classification(), token_classification(), question_answering(), image_classification(),
  };
  return rows;
}

}  // namespace

const std::deque<TaskRow>& task_table() {
  return all_rows();
}

void add_row(TaskRow row) {
  row.task = static_cast<Task>(all_rows().size());
  all_rows().push_back(std::move(row));
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
