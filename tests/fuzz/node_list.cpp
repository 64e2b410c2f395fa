// Slurm's lists of machines and of tasks: two parts of the input.
#include "fuzz.h"
#include "launcher/environments/slurm.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 2);
    for (const std::string& name : launcher::expand_node_list(parts[0])) {
      if (name.empty()) __builtin_trap();
    }
    for (const int tasks : launcher::expand_tasks_per_node(parts[1])) {
      if (tasks < 0) __builtin_trap();
    }
  });
}
