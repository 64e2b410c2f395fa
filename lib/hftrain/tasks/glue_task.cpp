#include "hftrain/tasks/glue_task.h"

#include <array>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::tasks {
namespace {

constexpr std::array<GlueTask, 9> kGlueTasks = {{
    {"cola", "sentence", nullptr},
    {"mnli", "premise", "hypothesis"},
    {"mrpc", "sentence1", "sentence2"},
    {"qnli", "question", "sentence"},
    {"qqp", "question1", "question2"},
    {"rte", "sentence1", "sentence2"},
    {"sst2", "sentence", nullptr},
    {"stsb", "sentence1", "sentence2", true},
    {"wnli", "sentence1", "sentence2"},
}};

}  // namespace

GlueTask glue_task_named(const std::string& asked) {
  std::string known;
  for (const GlueTask& task : kGlueTasks) {
    if (to_lower(asked) == task.name) return task;
    known += (known.empty() ? "" : ", ") + std::string(task.name);
  }
  throw Error(ExitCode::kUsage, "there is no GLUE task '" + asked + "'")
      .where("--task_name")
      .why("the tasks are " + known)
      .hint("one of them, or none for files of your own");
}

}  // namespace hftrain::tasks
