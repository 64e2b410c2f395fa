// The task that a plug-in's file describes, read before anything of it is loaded.
#include "hftrain/tasks/task_description.h"
#include "fuzz.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  return fuzz::read_or_refuse([&] {
    const tasks::TaskDescription task = tasks::read_task_description(text, "a.so");
    if (task.name.empty() || task.texts.empty() || task.label_columns.empty() || task.max_length < 2)
      __builtin_trap();
  });
}
