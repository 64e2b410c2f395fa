// A host file, --include and --exclude: three parts of the input.
#include "launcher/ssh/host_file.h"

#include "fuzz.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 3);
    arguments::LaunchArguments launch;
    launch.include = parts[1];
    launch.exclude = parts[2];
    const auto hosts = launcher::choose_hosts(launcher::parse_host_file(parts[0], "hosts"), launch, "hosts");
    if (hosts.empty()) __builtin_trap();
    for (const launcher::Host& host : hosts) {
      if (host.slots.empty() || host.name.empty()) __builtin_trap();
    }
  });
}
