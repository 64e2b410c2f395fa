#include "hftrain/tasks/task_table.h"

#include <functional>
#include <set>

#include "hftrain/arguments/flag_table.h"
#include "support/catch.h"

namespace hftrain::tasks {
namespace {

using arguments::Support;

const arguments::Flag& flag_named(std::string_view name) {
  const arguments::FlagMatch match = arguments::flag_table().find(name);
  REQUIRE(match);
  return *match.flag;
}

TEST_CASE("each task has one row, in the order of the tasks, and names of its own") {
  std::set<std::string_view> names;
  for (size_t i = 0; i < task_table().size(); ++i) {
    const TaskRow& row = task_table()[i];
    CAPTURE(row.name);
    CHECK(row.task == static_cast<Task>(i));
    CHECK(&row_of(row.task) == &row);
    CHECK(task_named(row.name) == row.task);
    CHECK(names.insert(row.name).second);
    for (const std::string_view other : row.other_names) {
      CHECK(task_named(other) == row.task);
      CHECK(names.insert(other).second);
    }
  }
  CHECK_FALSE(task_named("poetry"));
}

TEST_CASE("what evaluation alone reads is none of the training data's options") {
  const auto options = [](Task task, const std::function<void(arguments::Arguments&)>& change) {
    arguments::Arguments arguments;
    change(arguments);
    const data::Recipe recipe = row_of(task).recipe({.arguments = arguments, .model_config = Json::object()});
    return std::pair(recipe.options, recipe.training_options);
  };
  const auto targets = [&](std::optional<int64_t> evaluated, int64_t trained) {
    return options(Task::kSeq2Seq, [&](arguments::Arguments& given) {
      given.data.val_max_target_length = evaluated;
      given.data.max_target_length = trained;
    });
  };
  CHECK(targets(16, 20).first != targets(20, 20).first);
  CHECK(targets(16, 20).second == targets(20, 20).second);
  CHECK(targets(16, 20).second != targets(16, 16).second);
  const auto packed = [&](bool trained, std::optional<bool> evaluated) {
    return options(Task::kInstructionTuning, [&](arguments::Arguments& given) {
      given.instructions.packing = trained;
      given.instructions.eval_packing = evaluated;
    });
  };
  CHECK(packed(true, false).first != packed(true, {}).first);
  CHECK(packed(true, false).second == packed(true, {}).second);
  const Json without = packed(false, {}).first;
  CHECK(packed(false, true).second == without);
  CHECK(packed(true, {}).second != without);
}

TEST_CASE("the flag --task takes the names of the table, and refuses those of tasks that are not built yet") {
  std::set<std::string> of_flag, of_table;
  for (const arguments::Choice& choice : flag_named("task").choices) {
    CAPTURE(choice.word);
    of_flag.insert(std::string(choice.word));
    const auto task = task_named(choice.word);
    REQUIRE(task);
    CHECK(row_of(*task).built() == (choice.support.status == Support::kImplemented));
  }
  for (const TaskRow& row : task_table()) {
    if (row.task >= Task::kDescribed) continue;  // of a plug-in
    of_table.emplace(row.name);
    of_table.insert(row.other_names.begin(), row.other_names.end());
  }
  CHECK(of_flag == of_table);
}

TEST_CASE("the flags that a task reads are flags, and it can be told what to do by them") {
  for (const TaskRow& row : task_table()) {
    for (const std::string_view name : row.flags) {
      CAPTURE(row.name, name);
      CHECK(flag_named(name).support.status == Support::kImplemented);
    }
  }
}

}  // namespace
}  // namespace hftrain::tasks
