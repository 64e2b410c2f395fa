// Slurm's lists of machines and of tasks: two parts of the input.
#include "fuzz.h"
#include "launcher/environments/slurm.h"

namespace {

constexpr size_t kMost = 1000;  // a few bytes stand for 100,000 names, and nothing is found in the later ones

}  // namespace

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 2);
    for (const std::string& name : launcher::expand_node_list(parts[0], kMost)) {
      if (name.empty()) __builtin_trap();
    }
    for (const int tasks : launcher::expand_tasks_per_node(parts[1], kMost)) {
      if (tasks < 0) __builtin_trap();
    }
  });
}
