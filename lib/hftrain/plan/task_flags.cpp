// Flags of other tasks, which would do nothing.
#include <algorithm>
#include <set>

#include "hftrain/plan/problems.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// The tasks that read a flag, as flags: "--task a or --task b".
std::string readers_of(std::string_view flag) {
  std::string readers;
  for (const tasks::TaskRow& row : tasks::task_table()) {
    if (std::find(row.flags.begin(), row.flags.end(), flag) != row.flags.end())
      readers += (readers.empty() ? "--task " : " or --task ") + std::string(row.name);
  }
  return readers;
}

// The length that people of another task mean is this one's by another name; and who named no task may mean one.
std::string instead_of(std::string_view flag, const tasks::TaskRow& task, bool task_was_named) {
  const auto limits = [](std::string_view name, const tasks::TaskRow& row) {
    const bool reads = std::find(row.flags.begin(), row.flags.end(), name) != row.flags.end();
    return reads && (name == row.length_flag || name == "block_size");
  };
  const auto& table = tasks::task_table();
  const auto own = std::find_if(task.flags.begin(), task.flags.end(),
                                [&](std::string_view name) { return limits(name, task); });
  const bool is_length =
      std::any_of(table.begin(), table.end(), [&](const tasks::TaskRow& row) { return limits(flag, row); });
  if (is_length && own != task.flags.end()) return "--" + std::string(*own) + " limits its samples";
  if (flag == "data_dir") return "--train_file FILE…, --validation_file and --test_file name its files";
  if (flag == "label_column_name" && task.task == tasks::Task::kTextClassification)
    return "leave it out, and call the column of labels 'label'";
  return task_was_named ? "leave it out" : readers_of(flag) + "; or leave it out";
}

}  // namespace

void require_flags_of_task(const arguments::ParseOutcome& parsed) {
  const tasks::TaskRow& task = task_row(parsed);
  Problems problems;
  std::set<std::string_view> known(task.flags.begin(), task.flags.end());
  for (const tasks::TaskRow& other : tasks::task_table()) {
    for (const std::string_view flag : other.flags) {
      if (!known.insert(flag).second || !parsed.origins.is_chosen(std::string(flag))) continue;
      problems.usage("--task " + std::string(task.name) + " does not read --" + std::string(flag),
                     parsed.origins.describe(std::string(flag)), "it belongs to " + readers_of(flag),
                     instead_of(flag, task, parsed.origins.is_chosen("task")));
    }
  }
  problems.throw_if_any();
}

}  // namespace hftrain::plan
